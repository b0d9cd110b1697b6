"""The data folder."""
