"""Attacks on indexes, commands, models and servers: the parts of `faults.py`."""
