"""Adapters to other frameworks. Each module needs its framework; the import error names the extra to install."""
