"""Imported graphs: read from files, made of other systems' indexes, and combined with documents."""
