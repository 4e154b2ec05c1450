"""The routes of the server, one module for each group; each has a `router`."""
