"""Path operators: shortest paths, beam search, flow paths, chains and relation paths."""
