"""In-memory twins of the disk adapters."""
