"""Queries: what a question asks of facts, as a value that is executed exactly."""
