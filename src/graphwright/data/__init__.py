"""Documents, questions and extracted triples, read from files into plain records."""
