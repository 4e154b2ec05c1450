"""Logs, metrics, spans and the audit log."""
