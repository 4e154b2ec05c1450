"""An index in shards: documents in indexes of their own, held by processes, and one graph over all of them."""
