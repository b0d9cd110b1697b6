"""Follow a streaming query: each of its batches as it ends, until somebody has seen enough or it is over."""

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

__all__ = ["Progress", "progress_of", "start_writing"]

LOOK_EVERY_S = 0.2

Progress = dict[str, Any]


def progress_of(query: "StreamingQuery") -> Iterator[Progress]:
    """What each trigger did, once. Raises what ended the query, if that was an error."""
    seen = ""
    ended = False
    while not ended:
        ended = bool(query.awaitTermination(LOOK_EVERY_S))  # type: ignore[arg-type]
        # Spark keeps the last hundred, and its times are text that sorts.
        for one in query.recentProgress:
            if one["timestamp"] > seen:
                seen = one["timestamp"]
                yield one


def start_writing(
    stream: "DataStreamWriter", write: Callable[["DataFrame", str], None], checkpoint: str
) -> "StreamingQuery":
    """`write(batch, key)` is called for each batch, with a key that is the same when the batch is replayed."""
    started = threading.Event()
    name: list[str] = []

    def each(batch: "DataFrame", number: int) -> None:
        # The first batch may be quicker than whoever started it.
        started.wait()
        write(batch, f"{name[0]}/{number}")

    query = stream.foreachBatch(each).option("checkpointLocation", checkpoint).start()
    name.append(str(query.id))
    started.set()
    return query
