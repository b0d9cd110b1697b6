"""The log as a table: `spark.read.format("goqueue")` and its like, exactly once in both directions."""

from goqueue.spark.data_source import GoQueueDataSource
from goqueue.spark.decoding import from_goqueue, read_typed, type_of
from goqueue.spark.failures import reason
from goqueue.spark.session import open_session, register

__all__ = ["GoQueueDataSource", "from_goqueue", "open_session", "read_typed", "reason", "register", "type_of"]
