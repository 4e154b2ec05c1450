"""Readers of file formats: each turns one file into texts with headings and places."""
