"""The graph, its evidence, and how both are kept on disk."""
