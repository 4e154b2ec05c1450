"""From documents to an index folder: extract, merge, embed, build, store."""
