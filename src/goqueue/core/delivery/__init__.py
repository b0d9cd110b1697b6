"""Queue over the log: the progress of each group through the records."""
