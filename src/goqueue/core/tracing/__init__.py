"""Tracing: sampling of records, and the newest spans."""
