"""Offline parser of questions over graphs."""
