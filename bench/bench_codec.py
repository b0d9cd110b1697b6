"""What the codec takes per record: compiled and in plain Python, in batches of 100 as a producer sends them."""

import time
from collections.abc import Callable
from functools import partial

from bench.report import Row, rounds, row, spread
from goqueue.codec import ACTIVE, record_py
from goqueue.codec.arrow import to_arrow
from goqueue.errors import GoQueueError
from goqueue.model.record import Record

__all__ = ["run"]

BATCH = 100
RANGE_BYTES = 1 << 20
STAMP_NS_MAX = 100
STAMP_RATIO_MIN = 10
ARROW_ROWS_MIN = 3_000_000


def run(quick: bool = False) -> list[Row]:
    if ACTIVE != "compiled":
        raise GoQueueError("the compiled codec is not installed", hint="install a C compiler, then `make setup`")
    made: list[Row] = []
    for label, size in (("100 B", 100), ("1 KB", 1024)):
        made += _batches(label, size, quick, targets=size == 100)
        made += _arrow(label, size, quick, targets=size == 100)
    return made


def _records(count: int, size: int) -> list[Record]:
    return [Record(value=bytes(size), key=b"key-%06d" % number) for number in range(count)]


def _seconds(work: Callable[[], object], times: int) -> float:
    """The time one call takes; the first one, which finds cold caches, is not counted."""
    work()
    began = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - began) / times


def _batches(label: str, size: int, quick: bool, *, targets: bool) -> list[Row]:
    from goqueue.codec import record

    records = _records(BATCH, size)
    stored = bytearray(record.encode(records))
    record.stamp(stored, 0, 1)
    works: dict[str, Callable[..., object]] = {
        "encode": lambda codec: codec.encode(records),
        "stamp": lambda codec: codec.stamp(stored, 0, 1),
        "scan": lambda codec: codec.scan(stored),
        "decode": lambda codec: codec.decode(stored),
    }
    measurements = []
    for work in works.values():
        measurements += [
            partial(_seconds, partial(work, record), 200 if quick else 1000),
            partial(_seconds, partial(work, record_py), 5 if quick else 20),
        ]
    samples = [[one / BATCH * 1e9 for one in series] for series in rounds(3 if quick else 15, *measurements)]
    made = []
    for name, compiled, twin in zip(works, samples[::2], samples[1::2], strict=True):
        limited = targets and name == "stamp"
        ratio = spread(twin, compiled)
        made += [
            row(f"{name} {label}", compiled, "ns/record", at_most=STAMP_NS_MAX if limited else None),
            row(f"{name} {label}, Python twin", twin, "ns/record"),
            row(f"{name} {label}, twin / compiled", ratio, "×", at_least=STAMP_RATIO_MIN if limited else None),
        ]
    return made


def _arrow(label: str, size: int, quick: bool, *, targets: bool) -> list[Row]:
    """A range is what a table scan reads at a time; a single batch shows what Arrow costs per call."""
    from goqueue.codec import record

    in_range = RANGE_BYTES // (size + 44)
    large, small = record.encode(_records(in_range, size)), record.encode(_records(BATCH, size))
    at_least = ARROW_ROWS_MIN if targets else None
    everything, offsets_only, batch = rounds(
        3 if quick else 15,
        lambda: in_range / _seconds(lambda: to_arrow(large), 10 if quick else 50),
        lambda: in_range / _seconds(lambda: to_arrow(large, ["offset", "timestamp"]), 10 if quick else 50),
        lambda: BATCH / _seconds(lambda: to_arrow(small), 50 if quick else 500),
    )
    return [
        row(f"to Arrow {label}, 1 MiB range", everything, "records/s", at_least=at_least),
        row(f"to Arrow {label}, 1 MiB range, 2 columns", offsets_only, "records/s"),
        row(
            f"to Arrow {label}, 100 records a call",
            batch,
            "records/s",
            note="the same ten or so Arrow objects are made for 100 records as for a range",
        ),
    ]
