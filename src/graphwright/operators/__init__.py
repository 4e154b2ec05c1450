"""The algebra of retrieval operators."""
