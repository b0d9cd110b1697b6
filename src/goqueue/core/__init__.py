"""Pure state machines: they decide, and know no clock, disk or network."""
