import msgspec
import pytest

from goqueue.core.transactions.events import KeptCoordinator
from goqueue.engine.pieces import encode_pieces
from goqueue.engine.ports import StateEvent
from goqueue.engine.streams import Kind, Streams
from goqueue.errors import DataFolderDamaged


class Total:
    """Adds up the numbers it is given."""

    def __init__(self) -> None:
        self.value = 0

    def apply(self, event: int) -> None:
        self.value += event

    def snapshot(self) -> int:
        return self.value

    def restore(self, snapshot: int) -> None:
        self.value = snapshot


@pytest.fixture
def streams() -> Streams:
    return Streams([Kind("total/", int, int, lambda _: Total())])


def test_a_machine_goes_on_where_its_snapshot_and_its_events_leave_it(streams):
    streams.restore("total/a", msgspec.msgpack.encode(40))
    streams.apply(StateEvent("total/a", msgspec.msgpack.encode(2)))
    assert streams.machine("total/a").snapshot() == 42


@pytest.mark.parametrize(
    "take",
    [
        lambda streams: streams.restore("total/a", msgspec.msgpack.encode(["forty"])),
        lambda streams: streams.apply(StateEvent("total/a", msgspec.msgpack.encode("two"))),
        lambda streams: streams.restore("later/a", msgspec.msgpack.encode(1)),
        lambda streams: streams.apply(StateEvent("later/a", msgspec.msgpack.encode(1))),
    ],
)
def test_state_that_another_version_wrote_is_refused_in_words(streams, take):
    with pytest.raises(DataFolderDamaged) as refused:
        take(streams)
    assert "/a" in refused.value.message
    assert "start the version of GoQueue that wrote the folder" in refused.value.hint


class Parts:
    """A total for each name."""

    def __init__(self) -> None:
        self.totals: dict[str, int] = {}

    def apply(self, event: tuple[str, int]) -> None:
        name, more = event
        self.totals[name] = self.totals.get(name, 0) + more

    def part_keys(self) -> list[str]:
        return list(self.totals)

    def part(self, name: str) -> tuple[str, int] | None:
        return (name, self.totals[name]) if name in self.totals else None

    def snapshot(self) -> list[tuple[str, int]]:
        return list(self.totals.items())

    def restore(self, snapshot: list[tuple[str, int]]) -> None:
        self.totals = dict(snapshot)


def many_streams() -> Streams:
    return Streams(
        [
            Kind("small/", int, int, lambda _: Total(), is_bundled=True),
            Kind("parts", tuple[str, int], list[tuple[str, int]], lambda _: Parts(), part_of=lambda one: one[0]),
        ]
    )


def happen(streams: Streams, stream: str, event: object) -> None:
    streams.machine(stream).apply(event)
    streams.event(stream, event)


def kept(snapshots) -> dict[str, bytes]:
    return {name: one() if callable(one) else one for name, one in snapshots.items() if one is not None}


def come_back(stored: dict[str, bytes]) -> Streams:
    streams = many_streams()
    for name, payload in stored.items():
        streams.restore(name, payload)
    return streams


def test_many_small_machines_share_a_bounded_number_of_snapshots_and_come_back():
    streams = many_streams()
    for number in range(2000):
        happen(streams, f"small/{number}", number)
    snapshots, noted = streams.begin_snapshots()
    streams.finish_snapshots(noted)
    assert 1 < len(snapshots) <= 256
    stored = kept(snapshots)
    # One that changes takes those that share its snapshot along, and nothing else.
    happen(streams, "small/7", 1)
    streams.remove("small/8")
    again, _ = streams.begin_snapshots()
    assert 1 <= len(again) <= 2
    back = come_back(stored | kept(again))
    assert [back.machine(f"small/{number}").value for number in (6, 7, 9, 1999)] == [6, 8, 9, 1999]
    assert "small/8" not in dict(back.machines("small/"))


def test_what_changes_while_snapshots_are_made_ahead_is_in_them():
    streams = many_streams()
    for number in range(100):
        happen(streams, f"small/{number}", 1)
        happen(streams, "parts", (f"part-{number}", 1))
    count, work = streams.begin_round(is_first=True)
    assert count == 200
    for number, one in enumerate(work):
        streams.make_ahead(one)
        if number == 150:
            happen(streams, "small/0", 5)
            happen(streams, "parts", ("part-0", 5))
            happen(streams, "parts", ("part-99", 5))
            happen(streams, "parts", ("new", 3))
            happen(streams, "small/new", 3)
            streams.remove("small/1")
            del streams.machine("parts").totals["part-1"]
            streams.event("parts", ("part-1", 0))
    count, work = streams.begin_round(is_first=False)
    assert count == 7
    for one in work:
        streams.make_ahead(one)
    happen(streams, "parts", ("part-2", 7))
    happen(streams, "small/2", 7)
    back = come_back(kept(streams.begin_snapshots()[0]))
    assert back.machine("parts").totals == streams.machine("parts").totals
    for name in ("0", "2", "3", "new"):
        assert back.machine(f"small/{name}").value == streams.machine(f"small/{name}").value
    assert "small/1" not in dict(back.machines("small/"))


def test_a_round_that_was_cut_short_is_begun_again_with_everything():
    streams = many_streams()
    happen(streams, "parts", ("a", 1))
    happen(streams, "parts", ("b", 2))
    _, work = streams.begin_round(is_first=True)
    streams.make_ahead(next(iter(work)))
    for one in streams.begin_round(is_first=True)[1]:
        streams.make_ahead(one)
    assert come_back(kept(streams.begin_snapshots()[0])).machine("parts").totals == {"a": 1, "b": 2}


def test_a_snapshot_of_its_own_that_an_older_version_made_gives_way_to_the_shared_one():
    streams = many_streams()
    streams.restore("small/a", msgspec.msgpack.encode(40))
    assert streams.begin_snapshots()[0] == {}
    happen(streams, "small/a", 2)
    snapshots, noted = streams.begin_snapshots()
    assert snapshots["small/a"] is None
    streams.finish_snapshots(noted)
    assert come_back(kept(snapshots)).machine("small/a").value == 42
    happen(streams, "small/a", 1)
    assert "small/a" not in streams.begin_snapshots()[0]


@pytest.mark.parametrize("value", [(), tuple(range(20)), tuple(range(5000)), tuple(("x", n) for n in range(70_000)), 7])
def test_large_values_are_encoded_piece_by_piece_as_at_once(value):
    assert encode_pieces(value) == msgspec.msgpack.encode(value)
    kept = KeptCoordinator(1, (), (), value if isinstance(value, tuple) else (), (), 1, 2, 3)
    assert encode_pieces(kept) == msgspec.msgpack.encode(kept)
