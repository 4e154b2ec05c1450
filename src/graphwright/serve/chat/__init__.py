"""Conversations and completions as OpenAI has them."""
