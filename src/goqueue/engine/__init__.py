"""Use cases of the broker, over ports that adapters implement."""
