"""Access control: keys, tokens, scopes, rate limits, and the middleware that checks requests."""
