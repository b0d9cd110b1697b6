"""Consumer groups: what a rebalance costs the coordinator, and what members see of it."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import uvloop

from bench.groups_client import SESSION_MS, TOPIC
from bench.report import Row, row
from bench.server import running_server
from goqueue.client import Admin, TopicConfig
from goqueue.core.groups.group import Group
from goqueue.model.ids import InstantNs

MEMBERS, PARTITIONS = 100, 1000


def run(*, quick: bool) -> list[Row]:
    return _coordinator(rounds=2 if quick else 7) + _over_sockets(quick=quick)


def _coordinator(*, rounds: int) -> list[Row]:
    """In process: all decisions and their application from a member's arrival, or end, until the group is stable."""
    joins, deaths = [], []
    for _ in range(rounds):
        group = Group("bench")
        for number in range(MEMBERS):
            _join(group, number)
            _settle(group)
        joins.append(_timed_ms(lambda group=group: (_join(group, MEMBERS), _settle(group))))
        deaths.append(_timed_ms(lambda group=group: (_leave(group), _settle(group))))
    what = f"{MEMBERS} members × {PARTITIONS} partitions"
    return [
        row("coordinator time, one member joins", joins, "ms", at_most=1000, note=what),
        row("coordinator time, one member is gone", deaths, "ms", at_most=1000, note=what),
    ]


def _join(group: Group, number: int) -> None:
    now = InstantNs(1)
    events = group.join(f"m{number}", "bench", topics=[TOPIC], available={TOPIC: PARTITIONS}, now=now)
    for event in events:
        group.apply(event)


def _leave(group: Group) -> None:
    for event in group.leave("m0", now=InstantNs(1)):
        group.apply(event)


def _settle(group: Group) -> None:
    """Every member heartbeats, giving up what it is asked to, until nothing moves."""
    while group.state.value != "Stable":
        for member in group.describe().members:
            assignment = group.assignment(member.profile.member_id)
            for event in group.heartbeat(
                member.profile.member_id, member.epoch, owned=set(assignment.partitions), now=InstantNs(1)
            ):
                group.apply(event)


def _timed_ms(action: object) -> float:
    before = time.perf_counter()
    action()  # type: ignore[operator]
    return (time.perf_counter() - before) * 1000


def _over_sockets(*, quick: bool) -> list[Row]:
    members, partitions = (10, 100) if quick else (MEMBERS, PARTITIONS)
    with (
        tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder,
        running_server(f"{folder}/data") as server,
    ):
        uvloop.run(_create(server.native, partitions))
        arguments = json.dumps({"address": server.native, "members": members, "partitions": partitions})
        command = [sys.executable, "-m", "bench.groups_client", arguments]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    what = f"{members} members × {partitions} partitions, all members in one process"
    return [
        row("a member joins: until it has its share and every partition is owned", answer["join_s"], "s", at_most=1),
        row("partitions that moved then", answer["moved"], "partitions", note=what),
        row("longest pause of a partition that did not move", answer["gap_s"], "s", note="a record each 0.5 s"),
        row("the same in the seconds before", answer["gap_before_s"], "s"),
        row("of those, partitions with a record missed or doubled", answer["missed_or_doubled"], "", at_most=0),
        row("a member dies: until the broker decides so", answer["decided_s"], "s", note=f"session of {SESSION_MS} ms"),
        row("from that decision until every partition is owned", answer["takeover_s"], "s", at_most=1),
    ]


async def _create(address: str, partitions: int) -> None:
    async with Admin(address) as admin:
        await admin.create_topic(TOPIC, partitions, TopicConfig())
