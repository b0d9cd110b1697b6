"""What one client process is asked to do, and what it answers."""

import msgspec

from bench.peers.port import Subject

__all__ = ["Done", "Offer", "Work"]


class Offer(msgspec.Struct, frozen=True):
    """Records at a steady rate, whose way to the confirmation is timed."""

    rate: float
    seconds: float


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """Connect, say so, wait for the word, then publish and take until it is done."""

    adapter: str
    address: str
    subject: Subject
    command: str = "load"
    """`load`, or what is done at once: `create`, `drop`, `probe`."""
    board: str = ""
    row: int = 0
    rows: int = 0
    publishers: int = 0
    batch: int = 1
    size: int = 100
    seconds: float = 1.0
    is_warmed_up: bool = False
    """Whether each publisher sends a record before the clock runs; not where records are counted."""
    most: int | None = None
    """So many records from this process at most, however many seconds there are left."""
    workers: int = 0
    followers: tuple[str, ...] = ()
    """Groups of which this process has the only reader."""
    take: int = 100
    copies: int = 1
    """How often each record is delivered in all."""
    expected: int = 0
    """Deliveries of records that were there before."""
    offer: Offer | None = None


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What became of it; times are of the clock that all processes of a machine share."""

    published: int = 0
    acknowledged: int = 0
    ended: float = 0.0
    latencies_ms: dict[str, float] | None = None
    error: str = ""
