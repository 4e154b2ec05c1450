"""Logs, metrics and the audit log."""
