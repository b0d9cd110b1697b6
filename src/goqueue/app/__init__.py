"""Settings and composition of a broker."""
