"""A queue over the log: which group has done what with which record."""
