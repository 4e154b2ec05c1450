"""Tree operators: group-Steiner trees, prize-collecting trees, and their ranking."""
