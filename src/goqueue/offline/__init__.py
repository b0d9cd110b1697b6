"""Tools for a data folder at rest: look into it, check every byte of it, mend it, print its records."""
