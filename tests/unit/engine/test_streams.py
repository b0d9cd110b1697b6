import msgspec
import pytest

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
    return Streams([Kind("total/", lambda: (int, int), lambda _: Total())])


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


def test_a_stream_that_nobody_has_spoken_of_is_not_there_and_what_it_is_made_of_is_not_asked():
    def unasked() -> tuple[type, type]:
        raise AssertionError("nothing was read")

    streams = Streams([Kind("total/", unasked, lambda _: Total())])
    assert not streams.has("total/a")
    streams.machine("total/a")
    assert streams.has("total/a")
    assert not streams.has("total/b")
