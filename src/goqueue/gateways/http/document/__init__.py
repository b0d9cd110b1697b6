"""The API described: for machines, and for people."""
