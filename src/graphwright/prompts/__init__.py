"""Prompts of language models, one text file each, and the replies that they ask for."""
