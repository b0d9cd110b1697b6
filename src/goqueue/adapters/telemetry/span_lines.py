"""A run of spans as a line of JSON, for files and for standard output."""

from base64 import b64encode

import msgspec

from goqueue.model.contexts import PackedContexts
from goqueue.model.span import Operation, SpanRun, spans_of

__all__ = ["SpanLine", "line_of", "shown_key"]


class SpanLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """Fields at their defaults are left out. Spark reads the same, see `goqueue.spark.pipelines.spans`."""

    operation: Operation
    start_ns: int
    end_ns: int
    topic: str = ""
    created_ns: int = 0
    partition: int | None = None
    offset: int | None = None
    """Of the first record; negative for one that was refused, as it has none."""
    count: int = 1
    step: int = 1
    """How far apart the offsets of the records lie."""
    status: str = ""
    """`ok` or `error`."""
    group: str = ""
    delivery: int = 0
    error: str = ""
    error_type: str = ""
    member: str = ""
    key: str | None = None
    key_base64: str | None = None
    """Instead of `key`, where that is no text."""
    id: str = ""
    target: str = ""
    transaction: int = 0
    context: str = ""
    """The `traceparent` that the record carries."""
    tracestate: str = ""
    """Beside `context`."""
    contexts: bytes = b""
    """Of several records that carry one each: see `goqueue.model.contexts`, in base64."""
    tracestates: dict[str, list[int]] = {}
    """Each one that some of them carry, and how far the offsets of these are from `offset`."""
    trace_id: str = ""
    """This and the next two only for runs of one record."""
    span_id: str = ""
    parent_id: str = ""


_encode = msgspec.json.Encoder().encode


def line_of(run: SpanRun) -> bytes:
    """Without its end of line."""
    key, key_base64 = shown_key(run.key)
    own = spans_of(run)[0] if run.count == 1 else None
    return _encode(
        SpanLine(
            operation=run.operation,
            start_ns=run.start_ns,
            end_ns=run.end_ns,
            topic=run.topic,
            created_ns=run.created_ns,
            partition=run.partition,
            offset=run.offset,
            count=run.count,
            step=run.step,
            status="error" if run.error else "ok",
            group=run.group,
            delivery=run.delivery,
            error=run.error,
            error_type=run.error_type,
            member=run.member,
            key=key,
            key_base64=key_base64,
            id=run.id,
            target=run.target,
            transaction=run.transaction,
            context="" if run.context is None else run.context.traceparent.decode(),
            tracestate="" if run.context is None else run.context.state,
            contexts=run.contexts.entries,
            tracestates=_by_state(run.contexts),
            trace_id="" if own is None else own.trace_id,
            span_id="" if own is None else own.span_id,
            parent_id="" if own is None else own.parent_id,
        )
    )


def _by_state(contexts: PackedContexts) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    if contexts.states:
        for distance, context in contexts:
            if context.state:
                found.setdefault(context.state, []).append(distance)
    return found


def shown_key(key: bytes | None) -> tuple[str | None, str | None]:
    """As text if it is some, and otherwise in base64."""
    if key is None:
        return None, None
    try:
        return key.decode(), None
    except UnicodeDecodeError:
        return None, b64encode(key).decode()
