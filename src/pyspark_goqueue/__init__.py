"""Spark looks into packages with such a name by itself: `format("goqueue")` works without registering anything."""

from goqueue.spark.data_source import GoQueueDataSource as DefaultSource

__all__ = ["DefaultSource"]
