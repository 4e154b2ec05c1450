"""From evidence to an answer with citations."""
