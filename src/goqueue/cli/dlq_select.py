"""What the options of `goqueue dlq` say: which letters, how they are changed, how fast."""

from collections.abc import Sequence

from goqueue.adapters.clock import SystemClock
from goqueue.cli.failures import Refused
from goqueue.cli.places import parse_places
from goqueue.cli.record_input import parse_header
from goqueue.cli.times import parse_instant
from goqueue.wire.native.letters import EVERY_LETTER, LetterEdit, LetterSelect

__all__ = ["edit_of", "per_second", "require_some", "selection"]

SLOWEST = 0.1


def selection(
    reason: str | None,
    cause: str | None,
    key: str | None,
    group: str | None,
    since: str | None,
    until: str | None,
    places: Sequence[str] | None,
) -> LetterSelect:
    now_ns = SystemClock().now_ns()
    chosen = parse_places(places or (), hint="or choose by other options")
    return LetterSelect(
        reason,
        cause,
        _bytes(key),
        group,
        None if since is None else parse_instant(since, now_ns=now_ns),
        None if until is None else parse_instant(until, now_ns=now_ns),
        tuple(chosen) or None,
    )


def require_some(select: LetterSelect, *, every: bool) -> None:
    """Everything only when that is said."""
    if every == (select != EVERY_LETTER):
        raise Refused(
            "both all of them and some" if every else "which dead letters?",
            hint="choose with --reason, --cause, --key, --group, --from, --to or --offset; or take --all",
        )


def edit_of(into: str | None, value: str | None, key: str | None, headers: Sequence[str] | None) -> LetterEdit:
    given = {"value": value is not None, "key": key is not None, "headers": bool(headers)}
    return LetterEdit(
        tuple(name for name, is_given in given.items() if is_given),
        _bytes(value),
        _bytes(key),
        tuple(map(parse_header, headers or ())),
        into,
    )


def per_second(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        rate = float(text.removesuffix("/s"))
    except ValueError:
        rate = 0.0
    if not SLOWEST <= rate < 1e9:
        raise Refused(f"{text!r} is not a rate", hint=f"write it as records a second, from {SLOWEST} on, such as 50/s")
    return rate


def _bytes(text: str | None) -> bytes | None:
    """What was typed, also when it is not UTF-8."""
    return None if text is None else text.encode(errors="surrogateescape")
