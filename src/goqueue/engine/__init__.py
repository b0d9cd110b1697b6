"""Use cases: what the broker does, over ports that adapters fill."""
