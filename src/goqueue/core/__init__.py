"""State machines: pure decisions without access to a clock, disk or network."""
