"""Models from Hugging Face, run by sentence-transformers or transformers: the extra `sbert`."""
