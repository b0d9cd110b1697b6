"""Transactions at work: records, offsets and acknowledgements that count together or not at all."""
