"""Targets of fuzzing."""
