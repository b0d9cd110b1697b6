"""Priority lanes: which records are in which lane, and from which lane a poll takes how many."""
