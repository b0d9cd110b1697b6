"""Heads of native frames about dead letters. For how messages change over time, see `goqueue.wire.native.messages`."""

import msgspec

__all__ = [
    "EVERY_LETTER",
    "UNCHANGED",
    "CountLetters",
    "FindLetters",
    "FoundLetter",
    "FoundLetters",
    "LetterCounts",
    "LetterEdit",
    "LetterMove",
    "LetterOrigin",
    "LetterRefusal",
    "LetterSelect",
    "PurgeLetters",
    "RedriveLetters",
    "RedriveReply",
]

Cursor = tuple[int, int, int]
"""A place in the order of letters: time, partition, offset."""


class LetterSelect(msgspec.Struct, frozen=True, array_like=True):
    """A selection of dead letters; None means all. `places` are partitions and offsets.

    Example:

        from goqueue import Admin
        from goqueue.client import LetterSelect

        with Admin() as admin:
            for letter in admin.list_dead_letters("orders", LetterSelect(group="billing")).letters:
                print(letter)
    """

    reason: str | None = None
    cause: str | None = None
    key: bytes | None = None
    group: str | None = None
    from_ns: int | None = None
    to_ns: int | None = None
    places: tuple[tuple[int, int], ...] | None = None


EVERY_LETTER = LetterSelect()


class FindLetters(msgspec.Struct, frozen=True, array_like=True):
    topic: str
    select: LetterSelect = EVERY_LETTER
    limit: int = 100
    after: Cursor | None = None


class LetterOrigin(msgspec.Struct, frozen=True, array_like=True):
    """Where a letter comes from, and why it is one; `history` has times and reasons of the failures."""

    topic: str
    partition: int
    offset: int
    timestamp_ns: int
    group: str
    cause: str
    reason: str
    deliveries: int
    failures: int
    history: tuple[tuple[int, str], ...] = ()


class FoundLetter(msgspec.Struct, frozen=True, array_like=True):
    """The record as it was, in its place among the dead letters."""

    partition: int
    offset: int
    timestamp_ns: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    priority: int
    origin: LetterOrigin | None
    fault: str | None = None


class FoundLetters(msgspec.Struct, frozen=True, array_like=True):
    """`topic` is where they are. Without `next` that was the end; a page before it may be empty."""

    topic: str
    letters: tuple[FoundLetter, ...]
    next: Cursor | None


class CountLetters(msgspec.Struct, frozen=True, array_like=True):
    topic: str


class LetterCounts(msgspec.Struct, frozen=True, array_like=True):
    topic: str
    count: int
    by_cause: dict[str, int]
    by_reason: dict[str, int]
    by_group: dict[str, int]
    oldest_ns: int | None
    newest_ns: int | None


class LetterEdit(msgspec.Struct, frozen=True, array_like=True):
    """A change of dead letters on their way back; `changes` names what is to be different: value, key, headers.

    Example:

        from goqueue import Admin
        from goqueue.client import LetterEdit, LetterSelect

        with Admin() as admin:
            fixed = LetterEdit(changes=("value",), value=b"{}")
            admin.redrive_dead_letters("orders", LetterSelect(reason="bad value"), fixed, dry_run=True)
    """

    changes: tuple[str, ...] = ()
    value: bytes | None = None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    topic: str | None = None
    """Where they go instead of where they came from."""


UNCHANGED = LetterEdit()


class RedriveLetters(msgspec.Struct, frozen=True, array_like=True):
    """`ends` of the first reply, given with those that follow, keeps letters that come meanwhile out of it."""

    topic: str
    select: LetterSelect
    edit: LetterEdit = UNCHANGED
    dry_run: bool = False
    limit: int = 1000
    per_second: float | None = None
    after: Cursor | None = None
    ends: tuple[int, ...] | None = None


class PurgeLetters(msgspec.Struct, frozen=True, array_like=True):
    topic: str
    select: LetterSelect
    dry_run: bool = False
    limit: int = 1000
    after: Cursor | None = None
    ends: tuple[int, ...] | None = None


class LetterMove(msgspec.Struct, frozen=True, array_like=True):
    partition: int
    offset: int
    topic: str
    target_partition: int
    target_offset: int | None


class LetterRefusal(msgspec.Struct, frozen=True, array_like=True):
    partition: int
    offset: int
    code: str
    message: str
    hint: str | None = None


class RedriveReply(msgspec.Struct, frozen=True, array_like=True):
    """Of a redrive and of a purge; `done` are those sent back or purged. With `next` there is more to do."""

    topic: str
    matched: int
    done: int
    failed: int
    missing: int
    moves: tuple[LetterMove, ...]
    failures: tuple[LetterRefusal, ...]
    next: Cursor | None
    ends: tuple[int, ...]
    stopped: str | None = None
