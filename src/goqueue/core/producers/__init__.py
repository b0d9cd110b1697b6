"""Idempotent producers: identities and sequence numbers."""
