"""Rules of one partition: what may be read, what may go, when the disk is full."""
