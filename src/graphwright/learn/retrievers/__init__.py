"""Trained retrievers (ReG): what each makes of a question and a graph, from weights alone and without torch."""
