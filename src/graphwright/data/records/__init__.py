"""Records of files, and rows as documents."""
