"""The HTTP server over one or more indexes: `graphwright serve`, extra `serve`."""
