"""Retrievers that learn from questions and answers over a graph (ReG): labels, training, and what becomes of them."""
