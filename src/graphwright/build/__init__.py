"""Building: from stored extractions to one graph and its search structures, and changes of an index."""
