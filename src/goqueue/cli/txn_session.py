"""A transaction step by step from a shell, as `goqueue txn begin` and the verbs beside it do it."""

import re
from typing import Annotated, Any, Literal

import typer

from goqueue.cli.failures import Refused
from goqueue.cli.group_offsets import parse_offsets
from goqueue.cli.http_broker import DEFAULT_HTTP, HttpOption, ask_http
from goqueue.cli.output import Output, OutputOption, print_answer
from goqueue.cli.remote import TopicArgument, complete_groups
from goqueue.model.durations import parse_duration_ms

__all__ = ["begin", "commit", "decide", "offsets", "prepare", "publish", "rollback", "settle"]

_HANDLE = re.compile(r"(\d{1,18})\.(\d{1,18})\.(\d{1,9})", re.ASCII)

HandleArgument = Annotated[
    str, typer.Argument(metavar="HANDLE", help="As `goqueue txn begin` printed it.", show_default=False)
]


def begin(
    name: Annotated[
        str, typer.Argument(metavar="ID", help="The transactional id; of a part, the common key.", show_default=False)
    ],
    timeout: Annotated[str, typer.Option(metavar="DURATION", help="Aborted when it has not ended by then.")] = "1m",
    part: Annotated[bool, typer.Option("--part", help="A part of a larger one, which `decide` ends.")] = False,
    http: HttpOption = DEFAULT_HTTP,
    output: OutputOption = Output.TABLE,
) -> None:
    """Begin a transaction and print its handle for the other verbs. Whoever used the id before can do nothing any more.

    Example: HANDLE=$(goqueue txn begin billing-1)
    """
    timeout_ms = parse_duration_ms(timeout)
    if part:
        begun = ask_http(http, "/transactions/parts/begin", method="POST", body={"key": name, "timeout_ms": timeout_ms})
    else:
        wish = {"transactional_id": name, "transaction_timeout_ms": timeout_ms}
        producer = ask_http(http, "/producers/init", method="POST", body=wish)
        begun = ask_http(http, "/transactions/begin", method="POST", body=producer)
    handle = f"{begun['transaction']}.{begun['producer_id']}.{begun['epoch']}"
    print_answer(begun | {"handle": handle}, output, lambda: print(handle))


def publish(
    handle: HandleArgument,
    topic: TopicArgument,
    values: Annotated[list[str], typer.Argument(metavar="VALUE...", help="One record each.", show_default=False)],
    key: Annotated[str | None, typer.Option("--key", "-k", help="Key of every record.", show_default=False)] = None,
    http: HttpOption = DEFAULT_HTTP,
    output: OutputOption = Output.TABLE,
) -> None:
    """Publish records in a transaction: all of them or none, and seen by nobody until it is committed.

    Example: goqueue txn publish $HANDLE invoices '{"sum": 5}' --key customer-1
    """
    records = [{"value": value} | ({} if key is None else {"key": key}) for value in values]
    found = _in(handle, http, "/transactions/publish", topic=topic, messages=records)
    count = len(values)
    print_answer(
        found, output, lambda: print(f"{count} record{'' if count == 1 else 's'} of {topic} count when it is committed")
    )


def settle(
    handle: HandleArgument,
    receipts: Annotated[
        list[str],
        typer.Argument(metavar="RECEIPT...", help="As `goqueue queue take` printed them.", show_default=False),
    ],
    action: Annotated[Literal["ack", "nack", "reject"], typer.Option(help="What becomes of the records.")] = "ack",
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why.", show_default=False)] = None,
    delay: Annotated[
        str | None, typer.Option(metavar="DURATION", help="With nack: not before so long.", show_default=False)
    ] = None,
    http: HttpOption = DEFAULT_HTTP,
    output: OutputOption = Output.TABLE,
) -> None:
    """Settle records of a queue in a transaction: it takes effect when that is committed.

    Example: goqueue txn settle $HANDLE orders:0:42:1:billing/7/9f86d081
    """
    pause = None if delay is None else f"{parse_duration_ms(delay)}ms"
    found = _in(handle, http, "/transactions/add-acks", receipts=receipts, action=action, reason=reason, delay=pause)
    print_answer(found, output, lambda: print(f"{found['records']} settled when it is committed"))


def offsets(
    handle: HandleArgument,
    wanted: Annotated[
        list[str],
        typer.Argument(metavar="TOPIC/PARTITION=OFFSET...", help="The next offset to read.", show_default=False),
    ],
    group: Annotated[
        str,
        typer.Option(
            "--group", "-g", metavar="GROUP", help="Whose.", show_default=False, autocompletion=complete_groups
        ),
    ],
    http: HttpOption = DEFAULT_HTTP,
    output: OutputOption = Output.TABLE,
) -> None:
    """Commit offsets of a group with a transaction.

    Example: goqueue txn offsets $HANDLE orders/0=42 --group billing
    """
    found = _in(handle, http, "/transactions/add-offsets", group=group, offsets=parse_offsets(wanted))
    print_answer(found, output, lambda: print(f"{group} goes on from there when it is committed"))


def commit(handle: HandleArgument, http: HttpOption = DEFAULT_HTTP, output: OutputOption = Output.TABLE) -> None:
    """Commit a transaction: all of it counts from now on. May be said again when the answer was lost.

    Example: goqueue txn commit $HANDLE
    """
    found = _in(handle, http, "/transactions/commit")
    print_answer(found, output, lambda: print(f"transaction {found['transaction']} is {found['state']}"))


def rollback(handle: HandleArgument, http: HttpOption = DEFAULT_HTTP, output: OutputOption = Output.TABLE) -> None:
    """Give up a transaction that was begun here: nothing of it ever happened.

    Example: goqueue txn rollback $HANDLE
    """
    found = _in(handle, http, "/transactions/abort")
    print_answer(found, output, lambda: print(f"transaction {found['transaction']} is {found['state']}"))


def prepare(handle: HandleArgument, http: HttpOption = DEFAULT_HTTP, output: OutputOption = Output.TABLE) -> None:
    """Say that a part of a larger transaction is complete; only the decision is missing.

    Example: goqueue txn prepare $HANDLE
    """
    found = _in(handle, http, "/transactions/parts/prepare")
    print_answer(found, output, lambda: print(f"transaction {found['transaction']} is {found['state']}"))


def decide(
    key: Annotated[str, typer.Argument(metavar="KEY", help="What the parts were begun with.", show_default=False)],
    transactions: Annotated[
        list[int] | None,
        typer.Argument(
            metavar="NUMBER...", min=1, help="Parts that count; without any, none does.", show_default=False
        ),
    ] = None,
    http: HttpOption = DEFAULT_HTTP,
    output: OutputOption = Output.TABLE,
) -> None:
    """End a larger transaction: the parts that are named count together, all others of the key are aborted.

    Example: goqueue txn decide query/7 17 18
    """
    body = {"key": key, "transactions": transactions or []}
    found = ask_http(http, "/transactions/decide", method="POST", body=body)

    def as_text() -> None:
        print(f"{key}: {len(found['committed'])} committed, {len(found['aborted'])} aborted")

    print_answer(found, output, as_text)


def _in(handle: str, http: str, path: str, **fields: Any) -> dict[str, Any]:
    parts = _HANDLE.fullmatch(handle)
    if parts is None:
        raise Refused(f"{handle!r} is no handle of a transaction", hint="`goqueue txn begin ID` prints one")
    numbers = {"transaction": int(parts[1]), "producer_id": int(parts[2]), "epoch": int(parts[3])}
    return ask_http(http, path, method="POST", body=numbers | fields)
