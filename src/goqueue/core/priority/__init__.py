"""Priority lanes: the lanes of records, and the number of records a poll takes from each."""
