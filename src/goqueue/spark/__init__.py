"""The log as a table: `spark.read.format("goqueue")` and its like, exactly once in both directions."""

from typing import TYPE_CHECKING, Any

from goqueue.spark.data_source import GoQueueDataSource
from goqueue.spark.failures import reason
from goqueue.spark.session import open_session, register

if TYPE_CHECKING:
    from goqueue.spark.decoding import from_goqueue, read_typed, type_of

__all__ = ["GoQueueDataSource", "from_goqueue", "open_session", "read_typed", "reason", "register", "type_of"]


def __getattr__(name: str) -> Any:
    """What decodes values is loaded when it is first used: Spark starts Python for every step of planning a query."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from goqueue.spark import decoding

    return getattr(decoding, name)
