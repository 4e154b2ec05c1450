"""Subgraph operators: walks, pruning and views of the graph."""
