"""Published methods and baselines, each an expression of operators."""
