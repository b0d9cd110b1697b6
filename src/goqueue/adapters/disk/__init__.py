"""Storage in a data folder."""
