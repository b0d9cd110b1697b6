"""State of a group."""
