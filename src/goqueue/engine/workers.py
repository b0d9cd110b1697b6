"""Workers of groups: consumers that poll queues without being members.

A worker is a consumer on one connection. It is known from its first poll until the connection closes, or until it has
neither polled nor held a lease for the session time. A consumer that holds leases but has no connection counts as long
as it holds them. Workers are kept in memory only.
"""

from collections import Counter
from collections.abc import Callable
from typing import Literal

import msgspec

from goqueue.core.groups.group import Group
from goqueue.core.groups.state.members import DEFAULT_SESSION_MS
from goqueue.engine.queue.states import QueueStates
from goqueue.model.ids import InstantNs

__all__ = ["WorkerClient", "WorkerView", "Workers"]

MOST_OF_CLIENT = 100
"""Consumers remembered for each connection, as a proxy may have many. The oldest is forgotten first."""
NS_PER_MS = 1_000_000


Protocol = Literal["native", "http", "grpc"]


class WorkerView(msgspec.Struct, frozen=True):
    """A worker as an operator sees it. The connection is unknown for one that only holds leases."""

    consumer: str
    protocol: Protocol | Literal[""] = ""
    address: str = ""
    since: InstantNs | None = None
    """Time of its first poll on the connection."""
    in_flight: int | None = None
    """Records that it has leased; None if several connections use the same consumer id."""


class _Heard:
    """A consumer on a connection."""

    __slots__ = ("client", "consumer", "group", "since", "until")

    def __init__(self, client: "WorkerClient", group: str, consumer: str, since: InstantNs) -> None:
        self.client = client
        self.group = group
        self.consumer = consumer
        self.since = since
        self.until = 0


class WorkerClient:
    """A connection on which consumers may poll. The gateway that opened it has to close it."""

    __slots__ = ("_heard", "_workers", "address", "protocol")

    def __init__(self, workers: "Workers", protocol: Protocol, address: str) -> None:
        self._workers = workers
        self.protocol = protocol
        self.address = address
        self._heard: dict[tuple[str, str], _Heard] = {}

    def heard(self, group: str, consumer: str, wait_ms: int) -> None:
        """Note that the consumer polls and may wait for `wait_ms`."""
        now = self._workers.now_ns()
        known = self._heard.get((group, consumer))
        if known is None:
            if len(self._heard) >= MOST_OF_CLIENT:
                self._workers.remove(self._heard.pop(next(iter(self._heard))))
            known = self._heard[group, consumer] = _Heard(self, group, consumer, now)
            self._workers.add(known)
        known.until = now + (wait_ms + DEFAULT_SESSION_MS) * NS_PER_MS

    def forget(self, one: _Heard) -> None:
        self._heard.pop((one.group, one.consumer), None)

    def close(self) -> None:
        for one in self._heard.values():
            self._workers.remove(one)
        self._heard.clear()


class Workers:
    """The workers of all groups."""

    def __init__(self, queues: QueueStates, now_ns: Callable[[], InstantNs]) -> None:
        self._queues = queues
        self.now_ns = now_ns
        self._by_group: dict[str, dict[_Heard, None]] = {}

    def __len__(self) -> int:
        """Number of workers remembered."""
        return sum(map(len, self._by_group.values()))

    # Calls of connections.

    def client(self, protocol: Protocol, address: str) -> WorkerClient:
        return WorkerClient(self, protocol, address)

    def add(self, one: _Heard) -> None:
        self._by_group.setdefault(one.group, {})[one] = None

    def remove(self, one: _Heard) -> None:
        there = self._by_group.get(one.group)
        if there is not None:
            there.pop(one, None)
            if not there:
                del self._by_group[one.group]

    # Queries.

    def count(self, group: Group) -> int:
        """Number of workers of the group; quick if there are none."""
        if group.name not in self._by_group and not self._queues.consumers(group.name):
            return 0
        return len(self._connected(group)) + len(self._holders(group))

    def of(self, group: Group, most: int) -> list[WorkerView]:
        """At most `most` workers: those on connections first, the oldest first."""
        connected = self._connected(group)
        leased = self._queues.consumers(group.name)
        same = Counter(one.consumer for one in connected)
        views = [
            WorkerView(
                one.consumer,
                one.client.protocol,
                one.client.address,
                one.since,
                leased.get(one.consumer, 0) if same[one.consumer] == 1 else None,
            )
            for one in connected[:most]
        ]
        holders = self._holders(group)[: most - len(views)]
        return views + [WorkerView(consumer, in_flight=leased[consumer]) for consumer in holders]

    def _connected(self, group: Group) -> list[_Heard]:
        """The workers that are still active; the others are forgotten. A group with members has no workers."""
        now, leased = self.now_ns(), self._queues.consumers(group.name)
        there = self._by_group.get(group.name, {})
        for one in [one for one in there if one.until < now and one.consumer not in leased]:
            one.client.forget(one)
            self.remove(one)
        return [] if group.member_count else list(there)

    def _holders(self, group: Group) -> list[str]:
        """Consumers with leases that are neither members nor on a connection."""
        known = {one.consumer for one in self._by_group.get(group.name, ())}
        return sorted(one for one in self._queues.consumers(group.name) if one not in known and one not in group)
