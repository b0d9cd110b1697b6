"""Business ids of records, for deduplication."""
