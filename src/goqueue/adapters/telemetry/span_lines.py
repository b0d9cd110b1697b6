"""Line format of spans: a run as one line of JSON, for files and for standard output."""

from base64 import b64encode

import msgspec

from goqueue.model.contexts import PackedContexts
from goqueue.model.span import Operation, SpanRun, spans_of

__all__ = ["SpanLine", "line_of", "shown_key"]


class SpanLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line. Fields at their defaults are left out. Spark reads the same, see `goqueue.spark.pipelines.spans`."""

    operation: Operation
    start_ns: int
    end_ns: int
    topic: str = ""
    created_ns: int = 0
    partition: int | None = None
    offset: int | None = None
    """Offset of the first record; negative for a refused record."""
    count: int = 1
    step: int = 1
    """Distance between the offsets of neighbouring records."""
    status: str = ""
    """`ok` or `error`."""
    group: str = ""
    delivery: int = 0
    error: str = ""
    error_type: str = ""
    member: str = ""
    key: str | None = None
    key_base64: str | None = None
    """Base64 of the key if it is not text; `key` is then left out."""
    id: str = ""
    target: str = ""
    transaction: int = 0
    context: str = ""
    """`traceparent` of the record."""
    tracestate: str = ""
    """`tracestate` of the record."""
    contexts: bytes = b""
    """Contexts of several records: see `goqueue.model.contexts`, in base64."""
    tracestates: dict[str, list[int]] = {}
    """Each `tracestate` of these records, with the distances of their offsets from `offset`."""
    trace_id: str = ""
    """This field and the next two are set only for runs of one record."""
    span_id: str = ""
    parent_id: str = ""


_encode = msgspec.json.Encoder().encode


def line_of(run: SpanRun) -> bytes:
    """Line of a run, without the newline."""
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
    """Key as text, or as base64 if it is not text."""
    if key is None:
        return None, None
    try:
        return key.decode(), None
    except UnicodeDecodeError:
        return None, b64encode(key).decode()
