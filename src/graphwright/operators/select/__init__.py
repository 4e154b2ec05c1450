"""Selection operators: from evidence to passages."""
