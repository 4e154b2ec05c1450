"""Who may ask what: keys, tokens, scopes, rate limits, and the checks before any route."""
