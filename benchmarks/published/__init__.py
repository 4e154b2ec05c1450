"""Measurements of the five papers, and the numbers that they published."""
