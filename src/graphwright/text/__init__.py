"""Words, names and sentences in text."""
