"""Parsing of questions over tables: links, candidates, features, scorer, parser."""
