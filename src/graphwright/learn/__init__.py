"""Trained scorers and retrievers: training and inference."""
