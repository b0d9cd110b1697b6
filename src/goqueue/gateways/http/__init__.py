"""The HTTP API: a table of endpoints, and what serves it."""
