"""Business ids of records, and which of them are known."""
