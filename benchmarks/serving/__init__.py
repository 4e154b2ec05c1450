"""Measurements of processes, servers and adapters."""
