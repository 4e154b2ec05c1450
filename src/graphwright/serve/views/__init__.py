"""Documents and graphs as replies show them."""
