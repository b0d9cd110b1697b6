"""How far the jobs of a session are: tasks that are done, of those that are known so far."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

__all__ = ["watched"]

EVERY_S = 0.5


@contextmanager
def watched(spark: SparkSession, tell: Callable[[int, int], None]) -> Iterator[None]:
    """While the block runs, `tell(done, known)` is called twice a second, from a thread of its own."""
    try:
        tracker = spark.sparkContext.statusTracker()
    except PySparkException:
        # Over Spark Connect there is no context to ask.
        yield
        return
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(EVERY_S):
            stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
            found = [stage for stage in stages if stage is not None]
            if found:
                tell(sum(stage.numCompletedTasks for stage in found), sum(stage.numTasks for stage in found))

    thread = threading.Thread(target=watch, name="goqueue-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
