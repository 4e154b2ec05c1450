"""Community and summary operators (GraphRAG, RAPTOR)."""
