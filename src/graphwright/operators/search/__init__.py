"""Search operators: from a question to nodes, triples or passages."""
