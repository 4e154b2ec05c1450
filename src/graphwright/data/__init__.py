"""Readers of documents, knowledge graphs and question sets."""
