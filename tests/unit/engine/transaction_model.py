"""What readers, workers and producers of a broker with transactions must find: as simple as it can be, and slow."""

from dataclasses import dataclass, field

from goqueue.model.log import LogId

__all__ = ["Entry", "GroupModel", "LogModel", "Place", "Pledged", "TransactionModel"]

Place = tuple[LogId, int]
GRACE_NS = 5_000_000_000


@dataclass
class TransactionModel:
    number: int
    deadline: int
    key: str = ""
    state: str = "open"
    """`open`, `prepared`, `committed` or `aborted`."""
    is_touched: bool = False
    """Whether anything ever belonged to it."""
    pledges: list["Pledged"] = field(default_factory=list)
    offsets: dict[LogId, int] = field(default_factory=dict)

    @property
    def is_live(self) -> bool:
        return self.state in ("open", "prepared")


@dataclass(frozen=True)
class Pledged:
    place: Place
    action: str
    pause_ms: int
    restore: int
    letter: bytes | None = None


@dataclass(frozen=True)
class Entry:
    value: bytes
    key: bytes | None = None
    due: int = 0
    of: TransactionModel | None = None


class LogModel:
    """Records by offset; the markers between them have none."""

    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}

    def add(self, base: int, entries: list[Entry]) -> None:
        for offset, entry in enumerate(entries, base):
            assert offset not in self.entries
            self.entries[offset] = entry

    def visible(self, now: int, start: int = 0) -> dict[int, Entry]:
        """Up to the first record whose transaction has not ended."""
        found = {}
        for offset, entry in sorted(self.entries.items()):
            if offset < start:
                continue
            if entry.of is not None and entry.of.is_live:
                break
            if (entry.of is None or entry.of.state == "committed") and entry.due <= now:
                found[offset] = entry
        return found

    def committed(self) -> dict[int, Entry]:
        return {n: entry for n, entry in self.entries.items() if entry.of is None or entry.of.state == "committed"}

    def newest_by_key(self, now: int) -> set[int]:
        return set({entry.key: offset for offset, entry in sorted(self.visible(now).items())}.values())


class GroupModel:
    """What one group has done with the records of a topic."""

    def __init__(self, max_attempts: int) -> None:
        self.max_attempts = max_attempts
        self.leased: dict[Place, int] = {}
        """Until when."""
        self.failures: dict[Place, int] = {}
        self.not_before: dict[Place, int] = {}
        self.settled: set[Place] = set()
        self.acked: list[Place] = []
        self.dead: dict[Place, bytes] = {}

    def ready(self, visible: dict[Place, Entry], now: int) -> set[Place]:
        return {
            place
            for place in visible
            if place not in self.settled and place not in self.leased and self.not_before.get(place, 0) <= now
        }

    def ack(self, place: Place) -> None:
        del self.leased[place]
        assert place not in self.settled
        self.settled.add(place)
        self.acked.append(place)

    def bury(self, place: Place, value: bytes) -> None:
        del self.leased[place]
        assert place not in self.settled
        self.settled.add(place)
        self.dead[place] = value

    def is_last_try(self, place: Place) -> bool:
        return self.failures.get(place, 0) + 1 >= self.max_attempts

    def fail(self, place: Place, not_before: int) -> None:
        del self.leased[place]
        self.failures[place] = self.failures.get(place, 0) + 1
        self.not_before[place] = not_before

    # Transactions.

    def pledge(self, of: TransactionModel, pledged: Pledged) -> None:
        of.pledges.append(pledged)
        self.leased[pledged.place] = max(of.deadline + GRACE_NS, pledged.restore)

    def ended(self, of: TransactionModel, now: int) -> None:
        for one in of.pledges:
            if of.state == "aborted":
                self.leased[one.place] = one.restore
            elif one.action == "ack":
                self.ack(one.place)
            elif one.letter is not None:
                self.bury(one.place, one.letter)
            else:
                self.fail(one.place, now + one.pause_ms * 1_000_000)
