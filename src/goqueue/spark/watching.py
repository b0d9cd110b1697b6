"""Progress of the jobs of a session: tasks that are done, of those that are known so far."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

__all__ = ["watched"]

EVERY_S = 0.5


@contextmanager
def watched(spark: SparkSession, tell: Callable[[int, int], None]) -> Iterator[None]:
    """While the block runs, `tell(done, known)` is called twice a second, from a thread of its own.

    Both count all jobs since the block began, with the stages of running jobs that have not started yet.
    """
    try:
        tracker = spark.sparkContext.statusTracker()
    except PySparkException:
        # Over Spark Connect there is no context to ask.
        yield
        return
    ended = threading.Event()

    def watch() -> None:
        ended_tasks, running = 0, dict[int, tuple[int, int]]()
        while not ended.wait(EVERY_S):
            jobs = [tracker.getJobInfo(number) for number in tracker.getActiveJobsIds()]
            active = {number for job in jobs if job is not None for number in job.stageIds}
            for number in running.keys() - active:
                # A stage of a job that has ended: those of its tasks that were left out are not awaited any more.
                ended_tasks += running.pop(number)[1]
            for number in active:
                stage = tracker.getStageInfo(number)
                if stage is not None:
                    running[number] = (stage.numCompletedTasks, stage.numTasks)
            done, known = (sum(counts) for counts in zip((0, 0), *running.values(), strict=True))
            tell(ended_tasks + done, ended_tasks + known)

    thread = threading.Thread(target=watch, name="goqueue-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
