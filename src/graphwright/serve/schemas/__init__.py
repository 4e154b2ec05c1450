"""Bodies of requests and replies, for OpenAPI."""
