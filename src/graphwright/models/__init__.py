"""Models: their protocols, the implementations that ship with the package, and wrappers around them."""
