"""Data loss: records that a query has not read and that are gone. It stops the query, or it is said in the log."""

import logging
from collections.abc import Mapping

from goqueue.errors import OffsetOutOfRange
from goqueue.spark.broker import TopicShape
from goqueue.spark.options import ReadOptions

__all__ = ["lose", "lost_topics"]


def lose(options: ReadOptions, what: str, instead: str) -> None:
    """An error, or with `failOnDataLoss=false` a warning: then the query does something `instead`."""
    if options.fail_on_data_loss:
        raise OffsetOutOfRange(what, hint=f"set failOnDataLoss to false to {instead}, or begin with a new checkpoint")
    logging.getLogger(__name__).warning("%s; it goes on, as failOnDataLoss is false", what)


def lost_topics(options: ReadOptions, created: Mapping[str, int], topics: Mapping[str, TopicShape]) -> set[str]:
    """Topics that are not those which the query has read, though they may have their names."""
    lost = {name for name, at in created.items() if name not in topics or topics[name].created_ns != at}
    for name in sorted(lost):
        if name in topics:
            what, instead = "was deleted and created again", "read the new topic from its beginning"
        else:
            what, instead = "was deleted", "go on without it"
        lose(options, f"the topic {name} {what} since this query read it", instead)
    return lost
