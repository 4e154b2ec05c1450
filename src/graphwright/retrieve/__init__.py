"""The algebra of retrieval operators, one file per kind of search."""
