"""Models from Hugging Face, run by sentence-transformers."""
