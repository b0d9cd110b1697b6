"""What is written down is enough: any history, from its start or from a snapshot, gives the group back."""

import msgspec
import pytest

from goqueue.core.groups.events import GroupEvent
from goqueue.core.groups.registry import GroupChange, Groups
from goqueue.core.groups.state.members import Protocol
from goqueue.core.groups.state.snapshot import GroupSnapshot
from goqueue.errors import UnknownGroup
from tests.unit.groups.scene import Scene, partitions, questions, restored


def eventful(protocol):
    scene = Scene(orders=5, payments=3)
    scene.join("first", protocol=protocol, instance_id="one")
    scene.commit(3, *partitions("orders", 0, 1), member="first", metadata="m")
    scene.join("second", protocol=protocol)
    scene.rejoin("first")
    scene.join("third", protocol=protocol, topics=["orders"])
    scene.join("first-b", protocol=protocol, instance_id="one")
    scene.refresh(orders=6, payments=3)
    scene.do(lambda group: group.pause(now=scene.now()))
    scene.pass_time(10)
    scene.rejoin("first-b")
    scene.pass_time(25)
    scene.refresh(orders=6)
    scene.do(lambda group: group.resume(now=scene.now()))
    return scene


@pytest.mark.parametrize("protocol", Protocol)
def test_replaying_a_history_from_any_point_in_it_rebuilds_the_state_exactly(protocol):
    scene = eventful(protocol)
    events = msgspec.msgpack.decode(msgspec.msgpack.encode(scene.history), type=list[GroupEvent])
    assert events == scene.history
    for middle in range(len(events) + 1):
        early = Scene().group
        for event in events[:middle]:
            early.apply(event)
        late = restored(msgspec.structs.replace(early.snapshot(), name="readers"))
        for event in events[middle:]:
            late.apply(event)
        assert late.snapshot() == scene.group.snapshot()


def test_questions_asked_at_different_times_are_still_so_after_a_restart():
    scene = Scene(orders=8)
    scene.join("first")
    scene.join("second")
    scene.clock.advance_ms(5_000)
    scene.join("third")
    scene.restart()
    scene.heartbeat("first")
    asked = questions(scene.group)["first"]
    assert [partition.partition for partition, _ in asked] == [4, 5, 6, 7, 3]
    assert len({question for _, question in asked}) == 2
    scene.settle()
    assert sorted(len(scene.reads(member)) for member in scene.told) == [2, 3, 3]


def test_a_group_is_there_from_its_first_event_to_its_deletion():
    groups = Groups()
    scene = Scene(orders=2)
    with pytest.raises(UnknownGroup):
        groups.group("readers")
    fresh = groups.group_or_new("readers")
    events = fresh.join("first", "client", topics=["orders"], available=scene.available, now=scene.now())
    assert "readers" not in groups
    group = groups.apply(GroupChange("readers", tuple(events)))
    assert groups.group("readers") is groups.group_or_new("readers") is group
    groups.apply(GroupChange("readers", tuple(group.leave("first", now=scene.now()))))
    groups.apply(GroupChange("readers", tuple(group.delete(now=scene.now()))))
    assert len(groups) == 0
    assert not groups.group_or_new("readers").describe().generation


def test_all_groups_survive_a_restart_with_sessions_that_start_anew():
    groups = Groups()
    scene = Scene(orders=2)
    for name in ("readers", "writers"):
        group = groups.group_or_new(name)
        events = group.join("first", "client", topics=["orders"], available=scene.available, now=scene.now())
        groups.apply(GroupChange(name, tuple(events)))
    kept = msgspec.msgpack.encode(groups.snapshot())
    again = Groups()
    again.restore(msgspec.msgpack.decode(kept, type=tuple[GroupSnapshot, ...]))
    scene.clock.advance_ms(3_600_000)
    again.start_sessions(now=scene.now())
    assert again.snapshot() == groups.snapshot()
    assert [group.name for group in again] == ["readers", "writers"]
    assert all(group.next_deadline() == scene.now() + 30_000_000_000 for group in again)
