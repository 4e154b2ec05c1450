"""Access control: keys, sessions, scopes, and the middleware that checks requests."""
