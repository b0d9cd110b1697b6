"""What many delays cost: memory while they are pending, bytes when they are kept."""

import tracemalloc

import msgspec

from tests.unit.delay.scene import DAY, SECOND, Scene, restored

MANY = 90_000
"""Just above a size at which a dictionary grows: the worst case for memory per entry."""


def spread(scene: Scene) -> None:
    for base in range(0, MANY, 1_000):
        offsets = range(base, base + 1_000)
        dues = [scene.now + SECOND + (offset * 765_432_198_765_431) % (7 * DAY) for offset in offsets]
        scene.delays.apply(scene.delays.schedule(offsets, dues, now=scene.now))


def test_a_pending_delay_takes_less_than_150_bytes():
    """tracemalloc does not see bitmaps: in a process with a million delays they were found to take 15 to 25 bytes."""
    scene = Scene()
    tracemalloc.start()
    try:
        spread(scene)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used / MANY < 125


def test_cancelled_and_delivered_delays_take_almost_nothing():
    scene = Scene()
    spread(scene)
    scene.delays.apply(scene.delays.cancel(*range(0, MANY, 2)))
    scene.pass_time(8 * DAY)
    assert len(scene.delays) == 0
    assert len(msgspec.msgpack.encode(scene.delays.snapshot())) < 3 * MANY


def test_what_is_kept_does_not_depend_on_how_it_came_about():
    """Sets of neighbours take another form inside than sets that lost some of theirs."""
    one, other = Scene(), Scene()
    one.delay(dict.fromkeys(range(4), SECOND))
    one.delays.forget_below(1)
    other.delay(dict.fromkeys((2, 1), SECOND))
    other.delay({3: SECOND})
    assert one.delays.snapshot() == other.delays.snapshot()


def test_a_snapshot_takes_about_ten_bytes_for_each_and_comes_back_the_same():
    scene = Scene()
    spread(scene)
    kept = scene.delays.snapshot()
    assert len(msgspec.msgpack.encode(kept)) < 10.5 * MANY
    again = restored(kept)
    assert again.snapshot() == kept
    assert again.listing(skip=40_000, limit=50) == scene.delays.listing(skip=40_000, limit=50)
