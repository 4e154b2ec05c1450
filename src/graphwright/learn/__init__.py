"""Trained retrievers: training beside inference, and the labels that they learn from."""
