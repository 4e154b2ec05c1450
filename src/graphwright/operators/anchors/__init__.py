"""Anchor operators: keywords of a question and the nodes and edges that they refer to."""
