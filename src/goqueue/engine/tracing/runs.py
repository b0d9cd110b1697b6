"""Span runs: the common fields and the individual ones of the spans of some places."""

from collections.abc import Iterable

from goqueue.core.tracing.places import Place
from goqueue.model.span import Operation, SpanRun
from goqueue.model.topic import Topic

__all__ = ["runs_for"]

LONGEST_ERROR = 300
"""Consumers give the text, and memory is limited."""


def runs_for(
    topic: Topic,
    partition: int,
    places: Iterable[Place],
    operation: Operation,
    start_ns: int,
    end_ns: int,
    *,
    group: str = "",
    error: str = "",
    error_type: str = "",
    member: str = "",
    transaction: int = 0,
) -> list[SpanRun]:
    name, created_ns, error = topic.name, topic.created_ns, error[:LONGEST_ERROR]
    return [
        SpanRun(
            operation,
            start_ns,
            end_ns,
            name,
            created_ns,
            partition,
            offset,
            length,
            group,
            delivery,
            error,
            member,
            key,
            text,
            context,
            "",
            transaction,
            step,
            contexts,
            error_type,
        )
        for offset, length, context, key, text, delivery, step, contexts in places
    ]
