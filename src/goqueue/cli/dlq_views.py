"""Dead letters as `goqueue dlq` prints them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from goqueue.cli.dlq_run import Done
from goqueue.cli.output import print_table
from goqueue.cli.times import instant_text
from goqueue.gateways.http.forms.values import header_map, shown
from goqueue.wire.native.letters import FoundLetter, LetterCounts

__all__ = ["done_facts", "letter_facts", "print_done", "print_letter", "print_letters", "print_stats", "stats_facts"]

Facts = dict[str, Any]
SHORT = 40
LONG = 10_000
MOST_LINES = 20

as_facts = msgspec.structs.asdict


def letter_facts(letter: FoundLetter) -> Facts:
    facts = as_facts(letter) | {
        "timestamp": instant_text(letter.timestamp_ns),
        "key": _shown(letter.key),
        "value": _shown(letter.value),
        "headers": header_map(letter.headers),
        "origin": None,
    }
    del facts["timestamp_ns"]
    if letter.origin is not None:
        origin = as_facts(letter.origin) | {
            "timestamp": instant_text(letter.origin.timestamp_ns),
            "history": [{"at": instant_text(at), "reason": reason} for at, reason in letter.origin.history],
        }
        del origin["timestamp_ns"]
        facts["origin"] = origin
    return facts


def stats_facts(found: LetterCounts) -> Facts:
    facts = as_facts(found) | {"oldest": _instant(found.oldest_ns), "newest": _instant(found.newest_ns)}
    del facts["oldest_ns"], facts["newest_ns"]
    return facts


def done_facts(done: Done, verb: str) -> Facts:
    facts = as_facts(done) | {
        verb: done.done,
        "moves": [as_facts(one) for one in done.moves],
        "failures": [as_facts(one) for one in done.failures],
    }
    del facts["done"]
    if verb != "redriven":
        del facts["moves"], facts["failures"], facts["failed"]
    return facts


def print_letters(topic: str, letters: Sequence[FoundLetter], *, has_more: bool) -> None:
    if not letters:
        print(f"{topic} has no dead letters that fit")
        return
    rows = [
        (
            letter.partition,
            letter.offset,
            instant_text(letter.timestamp_ns)[:19],
            letter.origin and letter.origin.group,
            letter.origin and letter.origin.cause,
            letter.origin and _short(letter.origin.reason),
            letter.origin and letter.origin.failures,
            _text(letter.key),
            _text(letter.value),
        )
        for letter in letters
    ]
    columns = ("partition", "offset", "died", "group", "cause", "reason", "failures", "key", "value")
    print_table(
        "Dead letters", columns, rows, numbers="partition,offset,failures", to_drop="failures,cause,group,key,died"
    )
    if has_more:
        print(f"there are more; see them with --limit, or count them with `goqueue dlq stats {topic}`")


def print_letter(letter: FoundLetter) -> None:
    facts: Facts = {
        "partition": letter.partition,
        "offset": letter.offset,
        "died": instant_text(letter.timestamp_ns),
        "key": _text(letter.key, None),
        "value": _text(letter.value, None),
        "priority": letter.priority,
    }
    origin = letter.origin
    if origin is not None:
        facts |= {
            "came from": f"{origin.topic}/{origin.partition}, offset {origin.offset}",
            "published": instant_text(origin.timestamp_ns),
            "group": origin.group,
            "cause": origin.cause,
            "reason": origin.reason,
            "deliveries": origin.deliveries,
            "failures": origin.failures,
        }
    for name, value in facts.items():
        print(f"{name:10}  {'none' if value is None else value}")
    if letter.headers:
        print_table("Headers", ("name", "value"), [(name, _text(value, None)) for name, value in letter.headers])
    if origin is not None and origin.history:
        print_table("Failures", ("at", "reason"), [(instant_text(at), reason) for at, reason in origin.history])


def print_stats(found: LetterCounts) -> None:
    print(f"{found.topic} has {found.count:,} dead letter{'' if found.count == 1 else 's'}")
    if not found.count:
        return
    print(f"oldest  {_instant(found.oldest_ns)}\nnewest  {_instant(found.newest_ns)}")
    for title, counts in (("cause", found.by_cause), ("group", found.by_group), ("reason", found.by_reason)):
        _print_counts(title, counts)


def _print_counts(title: str, counts: Mapping[str, int]) -> None:
    most = Counter(counts).most_common(MOST_LINES)
    rows: list[tuple[str, int]] = [(_short(name, 100), count) for name, count in most]
    if len(counts) > len(most):
        rows.append((f"{len(counts) - len(most)} more", sum(counts.values()) - sum(count for _, count in most)))
    print_table(f"By {title}", (title, "letters"), rows, numbers="letters")


def print_done(done: Done, verb: str) -> None:
    ways = Counter(f"{move.topic}/{move.target_partition}" for move in done.moves)
    if ways:
        print_table(
            "Where they go" if done.dry_run else "Where they went",
            ("to", "letters"),
            sorted(ways.items()),
            numbers="letters",
        )
        if done.done > len(done.moves):
            print(f"of these, the first {len(done.moves):,}")
    if done.failures:
        rows = [(one.partition, one.offset, one.message) for one in done.failures[:MOST_LINES]]
        print_table("Not sent back", ("partition", "offset", "error"), rows, numbers="partition,offset")
        if done.failures[0].hint:
            print(f"hint: {done.failures[0].hint}")
    rest = f"; {done.failed:,} could not be" if done.failed else ""
    rest += f"; {done.missing:,} were not there" if done.missing else ""
    rest += f"; stopped: {done.stopped}" if done.stopped else ""
    rest += "; interrupted" if done.interrupted else ""
    verb = f"would be {verb}, nothing was changed" if done.dry_run else verb
    print(f"{done.done:,} dead letter{'' if done.done == 1 else 's'} {verb}{rest}")


def _instant(at: int | None) -> str | None:
    return None if at is None else instant_text(at)


def _shown(data: bytes | None) -> Any:
    return None if data is None else shown(data, None)[0]


def _text(data: bytes | None, width: int | None = SHORT) -> str | None:
    """One line that cannot steer a terminal."""
    if data is None:
        return None
    most = LONG if width is None else width
    text = data[: 4 * most].decode(errors="backslashreplace")
    plain = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text[: most + 1])
    return _short(plain, most)


def _short(text: str, width: int = SHORT) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
