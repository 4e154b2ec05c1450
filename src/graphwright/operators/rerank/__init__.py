"""Reranking operators and the scorers that they use."""
