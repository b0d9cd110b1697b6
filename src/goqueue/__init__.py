"""GoQueue: one durable log, used as a stream, as a queue and as a table."""

__all__ = ["__version__"]

__version__ = "0.1.0"
