"""Question sets with their corpus or graph, in the formats in which they are published."""
