"""Tracing of records as spans: noted, kept for a while, exported and queried."""
