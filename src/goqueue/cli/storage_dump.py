"""How `goqueue storage dump` prints records: as lines of text, as JSON lines, or as they are stored."""

import base64
import json
import shutil
import sys
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec

from goqueue import codec
from goqueue.cli.storage import DumpFormat, Values
from goqueue.cli.times import instant_text
from goqueue.model.record import Flag, Record
from goqueue.offline.dump import DamagedRange

__all__ = ["print_records"]

_SHOWN_FLAGS = (Flag.COMPRESSED, Flag.CONTROL, Flag.COMMIT)
_UNPRINTABLE = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}


class _Printer(Protocol):
    def records(self, records: memoryview) -> None: ...
    def damaged(self, damage: DamagedRange) -> None: ...


def print_records(
    found: Iterable[memoryview | DamagedRange], form: DumpFormat, values: Values, limit: int | None
) -> bool:
    """Print as they come, a window at a time; returns whether any of it was damaged."""
    printer: _Printer = _PRINTERS[form](values)
    left = limit
    damaged = False
    for part in found:
        if isinstance(part, DamagedRange):
            damaged = True
            printer.damaged(part)
        elif left is None:
            printer.records(part)
        else:
            taken, count = _at_most(part, left)
            printer.records(taken)
            left -= count
            if not left:
                break
    return damaged


def _at_most(records: memoryview, count: int) -> tuple[memoryview, int]:
    """The first `count` of some records."""
    offsets = [record.offset for record in codec.decode(records)]
    if len(offsets) <= count:
        return records, len(offsets)
    return records[: codec.seek(records, offsets[count])[0]], count


def _text(data: bytes | None, values: Values) -> str | None:
    if data is None or values is Values.NONE:
        return None
    if values is Values.HEX:
        return data.hex()
    if values is Values.BASE64:
        return base64.b64encode(data).decode()
    return data.decode("utf-8", "backslashreplace")


class _Raw:
    def __init__(self, values: Values) -> None:
        pass

    def records(self, records: memoryview) -> None:
        sys.stdout.buffer.write(records)

    def damaged(self, damage: DamagedRange) -> None:
        print(_damage_line(damage), file=sys.stderr)


class _JsonLines:
    def __init__(self, values: Values) -> None:
        self._values = values

    def records(self, records: memoryview) -> None:
        for record in codec.decode(records):
            print(json.dumps(self._as_dict(record), ensure_ascii=False))

    def damaged(self, damage: DamagedRange) -> None:
        print(json.dumps({"damaged": msgspec.to_builtins(damage)}, ensure_ascii=False))

    def _as_dict(self, record: Record) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "offset": record.offset,
            "time": instant_text(record.timestamp_ns),
            "timestamp_ns": record.timestamp_ns,
            "priority": record.priority,
            "flags": _flags(record),
        }
        if self._values is Values.NONE:
            sizes = {"key_bytes": record.key, "value_bytes": record.value}
            return shown | {name: None if data is None else len(data) for name, data in sizes.items()}
        return shown | {
            "key": _text(record.key, self._values),
            "value": _text(record.value, self._values),
            "headers": [[key, _text(value, self._values)] for key, value in record.headers],
        }


class _Table:
    """Columns of a fixed width, so that no row has to wait for the ones after it."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
        print(self._cut(f"{'OFFSET':>12}  {'TIME':30}  PRI  {'FLAGS':10}  {'KEY':20}  VALUE"))

    def records(self, records: memoryview) -> None:
        for record in codec.decode(records):
            time, flags = instant_text(record.timestamp_ns), ",".join(_flags(record))
            key = self._shown(record.key, "no key")
            line = f"{record.offset:>12}  {time:30}  {record.priority:>3}  {flags:10}  {key:20}  "
            print(self._cut(line + self._shown(record.value, "deleted") + self._headers(record)))

    def damaged(self, damage: DamagedRange) -> None:
        print(_damage_line(damage))

    def _shown(self, data: bytes | None, absent: str) -> str:
        if data is None:
            return f"({absent})"
        text = _text(data, self._values)
        # What is printed on a terminal must not be able to steer it.
        return f"({len(data)} B)" if text is None else text.translate(_UNPRINTABLE)

    def _headers(self, record: Record) -> str:
        shown = (f" {key.translate(_UNPRINTABLE)}={self._shown(value, '')}" for key, value in record.headers)
        return "".join(shown)

    def _cut(self, line: str) -> str:
        return line[: self._width] if self._width else line.rstrip()


def _flags(record: Record) -> list[str]:
    names = [flag.name.lower() for flag in _SHOWN_FLAGS if record.flags & flag]
    return names + ["tombstone"] * (record.value is None)


_PRINTERS: dict[DumpFormat, Callable[[Values], _Printer]] = {
    DumpFormat.TABLE: _Table,
    DumpFormat.JSON: _JsonLines,
    DumpFormat.RAW: _Raw,
}


def _damage_line(damage: DamagedRange) -> str:
    last = "unknown" if damage.last_offset is None else damage.last_offset
    return (
        f"-- damaged: {damage.file}, bytes {damage.position} to {damage.position + damage.length - 1}"
        f" ({damage.reason}), offsets {damage.first_offset} to {last} --"
    )
