"""Measurements of the embedded models."""
