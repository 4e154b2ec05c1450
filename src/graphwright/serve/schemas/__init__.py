"""Bodies of requests and replies, as OpenAPI shows them."""
