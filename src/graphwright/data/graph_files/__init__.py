"""Files of knowledge graphs: each format gives a query for DuckDB whose rows are triples."""
