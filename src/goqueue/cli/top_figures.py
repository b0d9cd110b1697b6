"""What `goqueue top` shows: rates and states by topic and group, from two looks at the broker's metrics."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

import msgspec

__all__ = ["Frame", "GroupLine", "Sample", "TopicLine", "frame_of", "parse_metrics"]

_LINE = re.compile(r"([a-z_]+)(?:\{(.*)\})? (\S+)", re.ASCII)
_LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', re.ASCII)
_WANTED = ("goqueue_", "process_start_time_seconds", "process_resident_memory_bytes")
_ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}
LANES = 5

Labels = tuple[tuple[str, str], ...]


class Sample(msgspec.Struct, frozen=True):
    """All figures at one moment, by name and labels."""

    at_s: float
    values: dict[str, dict[Labels, float]]

    def total(self, name: str) -> float:
        return sum(self.values.get(f"goqueue_{name}", {}).values())

    def by(self, name: str, *labels: str) -> dict[tuple[str, ...], float]:
        """Added up over all other labels."""
        found: dict[tuple[str, ...], float] = defaultdict(float)
        for given, value in self.values.get(f"goqueue_{name}", {}).items():
            known = dict(given)
            found[tuple(known.get(label, "") for label in labels)] += value
        return found


class TopicLine(msgspec.Struct, frozen=True):
    topic: str
    partitions: int
    records: int
    bytes: int
    in_per_s: float
    bytes_in_per_s: float
    out_per_s: float
    failed_per_s: float
    delayed: int
    dead_letters: int
    """Since the broker started."""


class GroupLine(msgspec.Struct, frozen=True):
    """`lanes` are the records that may be delivered, from critical to background; None for groups that are no queue."""

    group: str
    topic: str
    members: int
    workers: int
    lag: int
    delayed: int
    in_flight: int
    retrying: int
    done_per_s: float
    oldest_s: float
    paused: bool
    lanes: tuple[int, ...] | None


class Frame(msgspec.Struct, frozen=True):
    """One look. Rates are means since the look before."""

    version: str
    up_s: float
    memory_bytes: int
    connections: int
    disk_used_share: float
    in_per_s: float
    bytes_in_per_s: float
    out_per_s: float
    bytes_out_per_s: float
    requests_per_s: float
    topics: tuple[TopicLine, ...]
    groups: tuple[GroupLine, ...]


def parse_metrics(text: str, at_s: float) -> Sample:
    values: dict[str, dict[Labels, float]] = defaultdict(dict)
    for line in text.splitlines():
        found = _LINE.fullmatch(line) if line.startswith(_WANTED) else None
        if found and not found[1].endswith("_bucket"):
            labels = tuple((name, _plain(value)) for name, value in _LABEL.findall(found[2] or ""))
            values[found[1]][labels] = float(found[3])
    return Sample(at_s, dict(values))


def _plain(text: str) -> str:
    return re.sub(r"\\.", lambda found: _ESCAPES.get(found[0], found[0]), text) if "\\" in text else text


class _Rates:
    """What counters gained in a second; one that began anew, as after a restart, counts from 0."""

    def __init__(self, before: Sample, after: Sample) -> None:
        self._before, self._after = before, after
        self._took = max(after.at_s - before.at_s, 1e-9)

    def by(self, names: Iterable[str], *labels: str) -> dict[tuple[str, ...], float]:
        found: dict[tuple[str, ...], float] = defaultdict(float)
        for name in names:
            old = self._before.by(name, *labels)
            for place, value in self._after.by(name, *labels).items():
                gained = value - old.get(place, value)
                found[place] += (gained if gained >= 0 else value) / self._took
        return found

    def total(self, *names: str) -> float:
        return sum(self.by(names).values())


def frame_of(before: Sample, after: Sample) -> Frame:
    rates = _Rates(before, after)
    build = next(iter(after.values.get("goqueue_broker_build_info", {})), ())
    start = sum(after.values.get("process_start_time_seconds", {}).values())
    return Frame(
        version=dict(build).get("version", ""),
        up_s=max(0.0, after.at_s - start) if start else 0.0,
        memory_bytes=int(sum(after.values.get("process_resident_memory_bytes", {}).values())),
        connections=int(after.total("broker_connections")),
        disk_used_share=after.total("storage_disk_used_share"),
        in_per_s=rates.total("broker_published_records_total"),
        bytes_in_per_s=rates.total("broker_published_bytes_total"),
        out_per_s=rates.total("consumer_delivered_records_total", "consumer_fetched_records_total"),
        bytes_out_per_s=rates.total("consumer_delivered_bytes_total", "consumer_fetched_bytes_total"),
        requests_per_s=rates.total("broker_requests_total"),
        topics=tuple(_topics(after, rates)),
        groups=tuple(_groups(after, rates)),
    )


def _topics(now: Sample, rates: _Rates) -> Iterator[TopicLine]:
    partitions = now.by("broker_topic_partitions", "topic")
    records, size = now.by("storage_topic_records", "topic"), now.by("storage_topic_bytes", "topic")
    delayed = now.by("broker_delayed_records", "topic")
    dead = now.by("consumer_dead_lettered_records_total", "topic")
    coming = rates.by(["broker_published_records_total"], "topic")
    coming_bytes = rates.by(["broker_published_bytes_total"], "topic")
    going = rates.by(["consumer_delivered_records_total", "consumer_fetched_records_total"], "topic")
    failing = rates.by(
        ["consumer_nacked_records_total", "consumer_rejected_records_total", "consumer_timed_out_records_total"],
        "topic",
    )
    for place, count in sorted(partitions.items()):
        yield TopicLine(
            place[0],
            int(count),
            int(records.get(place, 0)),
            int(size.get(place, 0)),
            coming.get(place, 0.0),
            coming_bytes.get(place, 0.0),
            going.get(place, 0.0),
            failing.get(place, 0.0),
            int(delayed.get(place, 0)),
            int(dead.get(place, 0)),
        )


def _groups(now: Sample, rates: _Rates) -> Iterator[GroupLine]:
    lag = now.by("consumer_lag_records", "group", "topic")
    flying = now.by("consumer_in_flight_records", "group", "topic")
    retrying = now.by("consumer_retrying_records", "group", "topic")
    oldest = now.by("consumer_oldest_waiting_seconds", "group", "topic")
    members, paused = now.by("consumer_members", "group"), now.by("consumer_paused", "group")
    workers, delayed = now.by("consumer_workers", "group"), now.by("consumer_delayed_records", "group", "topic")
    done = rates.by(["consumer_settled_records_total"], "group", "topic")
    lanes: dict[tuple[str, ...], list[int]] = {}
    for (group, topic, priority), count in now.by("consumer_ready_records", "group", "topic", "priority").items():
        lane = _lane(priority)
        if lane is not None:
            lanes.setdefault((group, topic), [0] * LANES)[lane] += int(count)
    for place in sorted(lag.keys() | flying.keys() | lanes.keys()):
        ready = lanes.get(place)
        yield GroupLine(
            place[0],
            place[1],
            int(members.get(place[:1], 0)),
            int(workers.get(place[:1], 0)),
            int(lag.get(place, 0)),
            int(delayed.get(place, 0)),
            int(flying.get(place, 0)),
            int(retrying.get(place, 0)),
            done.get(place, 0.0),
            oldest.get(place, 0.0),
            bool(paused.get(place[:1], 0)),
            None if ready is None else tuple(ready),
        )


def _lane(priority: str) -> int | None:
    names = ("critical", "high", "normal", "low", "background")
    if priority in names:
        return names.index(priority)
    return int(priority) if priority.isdecimal() and int(priority) < LANES else None
