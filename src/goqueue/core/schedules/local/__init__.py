"""Local time: the readings that an expression names, and the instants of a reading in a zone."""
