"""What happens to records, as spans: noted, kept for a while, handed on, and asked for."""
