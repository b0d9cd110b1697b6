"""Log lines, metrics and spans."""
