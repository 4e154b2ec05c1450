"""Report of a run: HTML page, Markdown and terminal tables, result files."""
