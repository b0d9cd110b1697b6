"""How values look in JSON and in URLs."""
