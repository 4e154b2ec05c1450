"""Adapters to other frameworks. Each module needs its framework, and says which extra installs it."""
