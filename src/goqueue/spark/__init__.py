"""The log as a table: `spark.read.format("goqueue")` and its like, exactly once in both directions."""

from goqueue.spark.data_source import GoQueueDataSource
from goqueue.spark.failures import reason
from goqueue.spark.session import open_session, register

__all__ = ["GoQueueDataSource", "open_session", "reason", "register"]
