"""Avro value checks: whether bytes match a schema, and the cost of decoding them, without decoding.

The library that decodes Avro must not be given unchecked input: it follows a recursive schema until the process has no
stack left, takes an array of nulls for as long as it claims to be, and turns a decimal of 100 KB into a number for
seconds, without a limit and without releasing the GIL.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from goqueue.codec.values.limits import DEEPEST, LARGEST_DECODED, Budget, too_deep
from goqueue.errors import DecodingLimit, InvalidSchema, SchemaMismatch

__all__ = ["AvroValues", "heaviest_record"]

Skip = Callable[[bytes, int], int]
"""From the start of a value to its end."""
Item = Callable[[bytes, int, int], int]
"""Like Skip, for an item of an array or a map, by its index."""

LARGEST_DECIMAL = 512
"""Bytes of a decimal, enough for 1,200 digits: converting it takes time quadratic in its length."""

# Estimated bytes of memory of decoded values, including their slot in a list or a dictionary.
SCALAR = 40
TEXT = 64
LOGICAL = 120
ARRAY = 96
MAP = 128
RECORD = 128
FIELD = 40
PER_BYTE = 4
"""Per byte of text: one emoji makes Python store every character in four bytes."""

NO_LIMIT = sys.float_info.max

NUMBERS = {"null": 0, "boolean": 1, "int": 1, "long": 1, "float": 4, "double": 8}
"""The minimum encoded size of each type, in bytes."""

_ESCAPES = str.maketrans({"~": "~0", "/": "~1"})


class AvroValues:
    """Made once for each schema, with a function for each of its types.

    `schema` is plain: dictionaries, lists and full names, as fastavro parses it. `record_weight` is the minimum memory
    of a record, for a reader whose schema adds fields to those that were written.
    """

    def __init__(self, schema: Any, *, most: int = LARGEST_DECODED, record_weight: int = 0) -> None:
        types = _Types(schema, record_weight)
        self._budget = Budget(most)
        self._compiler = _Compiler(types, self._budget)
        try:
            self._skip = self._compiler.compile(schema)
            self._least = types.size(schema).memory
            growth = max((_growth(types.size(item)) for item in types.items()), default=0)
        except RecursionError:
            raise InvalidSchema("the types of the schema are nested too deep") from None
        self._growth = NO_LIMIT if types.is_recursive else growth + PER_BYTE
        self._has_decimals = types.has_decimals

    def needs_check(self, size: int) -> bool:
        """Whether a value of this size could exceed the limits; with most schemas none can."""
        return self._least + self._growth * size > self._budget.most or (self._has_decimals and size > LARGEST_DECIMAL)

    def check(self, data: bytes, start: int = 0) -> None:
        """Raise SchemaMismatch when the bytes from `start` on are not a value, DecodingLimit when it is too large."""
        self._budget.left = self._budget.most
        self._compiler.depth = 0
        try:
            self._budget.spend(PER_BYTE * (len(data) - start))
            end = self._skip(data, start)
        except _Misfit as misfit:
            path = "".join(f"/{part.translate(_ESCAPES)}" for part in reversed(misfit.path))
            raise SchemaMismatch(misfit.reason, path=path) from None
        except RecursionError:
            raise DecodingLimit("the value is nested too deep") from None
        if end != len(data):
            raise SchemaMismatch(f"the value ends at byte {end - start}, and there are {len(data) - start}")


def heaviest_record(schema: Any) -> int:
    """Memory of the record type with the most fields, for `record_weight`."""
    types = _Types(schema, 0)
    records = [one for one in types.named.values() if one["type"] in ("record", "error")]
    return max((RECORD + FIELD * len(one["fields"]) for one in records), default=0)


class _Misfit(Exception):
    """The bytes do not match the schema; `path` is collected from the inside out."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: list[str] = []


class _Size(NamedTuple):
    """Size of any value of a type, without the items of arrays and maps.

    `memory` is the maximum when decoded, `encoded` the minimum number of bytes; with `is_empty` it is always encoded in
    none.
    """

    memory: int
    encoded: int
    is_empty: bool = False


def _growth(item: _Size) -> float:
    return item.memory / item.encoded if item.encoded else NO_LIMIT


class _Types:
    """The types of a schema, named types by name."""

    def __init__(self, schema: Any, record_weight: int) -> None:
        self.named: dict[str, Mapping[str, Any]] = {}
        self.is_recursive = False
        self.has_decimals = False
        self._schema = schema
        self._record_weight = record_weight
        self._sizes: dict[str, _Size] = {}
        self._open: set[str] = set()
        for part in self._parts():
            if isinstance(part, dict):
                if "name" in part:
                    self.named[part["name"]] = part
                self.has_decimals = self.has_decimals or part.get("logicalType") == "decimal"

    def items(self) -> Iterator[Any]:
        """The item types of arrays and maps; afterwards the size of each named type is known."""
        for part in self._parts():
            if isinstance(part, dict):
                yield from (part[inner] for inner in ("items", "values") if inner in part)

    def resolved(self, schema: Any) -> Any:
        """The definition of a type given by name or inline."""
        while isinstance(schema, dict) and not isinstance(schema["type"], str):
            schema = schema["type"]
        return self.named.get(schema, schema) if isinstance(schema, str) else schema

    def size(self, schema: Any) -> _Size:
        schema = self.resolved(schema)
        if isinstance(schema, list):
            branches = [self.size(branch) for branch in schema]
            return _Size(
                max((one.memory for one in branches), default=0), 1 + min((one.encoded for one in branches), default=0)
            )
        kind = schema if isinstance(schema, str) else schema["type"]
        match kind:
            case "record" | "error":
                return self._record(schema)
            case "array":
                # Visited only to detect recursion.
                self.size(schema["items"])
                return _Size(ARRAY, 1)
            case "map":
                self.size(schema["values"])
                return _Size(MAP, 1)
            case "enum":
                return _Size(SCALAR, 1)
            case "fixed":
                return _Size(LOGICAL, schema["size"], schema["size"] == 0)
        memory = LOGICAL if isinstance(schema, dict) and "logicalType" in schema else SCALAR
        return _Size(memory, NUMBERS[kind], kind == "null") if kind in NUMBERS else _Size(max(memory, TEXT), 1)

    def own_memory(self, record: Mapping[str, Any]) -> int:
        """Memory of a record without the records nested in it, which are counted separately."""
        return max(RECORD, self._record_weight) + sum(
            FIELD + self._in_record(field["type"]) for field in record["fields"]
        )

    def _in_record(self, schema: Any) -> int:
        size = self.size(schema)
        return size.memory if size.is_empty else self.light(schema)

    def light(self, schema: Any) -> int:
        """Memory charged for a value before it is read: records are charged when they begin."""
        schema = self.resolved(schema)
        if isinstance(schema, list):
            return max((self.light(branch) for branch in schema), default=0)
        return SCALAR if self._is_record(schema) else self.size(schema).memory

    def _is_record(self, schema: Any) -> bool:
        schema = self.resolved(schema)
        return isinstance(schema, dict) and schema["type"] in ("record", "error")

    def _record(self, record: Mapping[str, Any]) -> _Size:
        name = record["name"]
        if name in self._open:
            self.is_recursive = True
            return _Size(SCALAR, 0)
        if name not in self._sizes:
            self._open.add(name)
            fields = [self.size(field["type"]) for field in record["fields"]]
            self._open.remove(name)
            self._sizes[name] = _Size(
                max(RECORD, self._record_weight) + sum(FIELD + one.memory for one in fields),
                sum(one.encoded for one in fields),
                all(one.is_empty for one in fields),
            )
        return self._sizes[name]

    def _parts(self) -> Iterator[Any]:
        waiting = [self._schema]
        while waiting:
            part = waiting.pop()
            yield part
            if isinstance(part, list):
                waiting += part
            elif isinstance(part, dict):
                waiting += [part[inner] for inner in ("items", "values") if inner in part]
                waiting += [field["type"] for field in part.get("fields", ())]
                if isinstance(part.get("type"), dict | list):
                    waiting.append(part["type"])


class _Compiler:
    """Makes the functions; those of records are looked up when called, since types may be recursive."""

    def __init__(self, types: _Types, budget: Budget) -> None:
        self.depth = 0
        self._types = types
        self._budget = budget
        self._made: dict[str, Skip] = {}

    def compile(self, schema: Any) -> Skip:
        schema = self._types.resolved(schema)
        if isinstance(schema, list):
            return _union([self.compile(branch) for branch in schema])
        size = self._types.size(schema)
        if isinstance(schema, str):
            return _PRIMITIVES[schema]
        match schema["type"]:
            case "record" | "error":
                return self._empty(size.memory) if size.is_empty else self._mention(schema)
            case "array":
                return self._blocks(schema["items"], _numbered)
            case "map":
                return self._blocks(schema["values"], _keyed)
            case "enum":
                return _enum(len(schema["symbols"]))
            case "fixed":
                return _decimal_fixed(schema) if schema.get("logicalType") == "decimal" else _fixed(schema["size"])
        return _decimal if schema.get("logicalType") == "decimal" else _PRIMITIVES[schema["type"]]

    def _empty(self, memory: int) -> Skip:
        """Skips a type that takes no bytes. It may nest other such types, more than could ever be counted."""
        spend = self._budget.spend

        def skip_empty(_: bytes, at: int) -> int:
            spend(memory)
            return at

        return skip_empty

    def _mention(self, record: Mapping[str, Any]) -> Skip:
        name, made = record["name"], self._made
        if name not in made:
            made[name] = _unmade
            made[name] = self._record(record)
        budget, memory = self._budget, self._types.own_memory(record)

        def mention(data: bytes, at: int) -> int:
            budget.left -= memory
            if budget.left < 0:
                raise budget.exceeded()
            self.depth += 1
            if self.depth > DEEPEST:
                raise too_deep("records")
            at = made[name](data, at)
            self.depth -= 1
            return at

        return mention

    def _record(self, record: Mapping[str, Any]) -> Skip:
        fields = [(field["name"], field["type"]) for field in record["fields"]]
        # Values that take no bytes are charged with their record. Without them, the input size bounds the steps of a
        # walk.
        steps = [(name, self.compile(kind)) for name, kind in fields if not self._types.size(kind).is_empty]

        def skip_record(data: bytes, at: int) -> int:
            for name, skip in steps:
                try:
                    at = skip(data, at)
                except _Misfit as misfit:
                    misfit.path.append(name)
                    raise
            return at

        return skip_record

    def _blocks(self, inner: Any, part: Callable[[Skip], Item]) -> Skip:
        item, budget = part(self.compile(inner)), self._budget
        is_keyed = part is _keyed
        memory = self._types.light(inner) + (TEXT if is_keyed else 0)
        # All items that take no bytes are equal.
        is_empty = self._types.size(inner).is_empty and not is_keyed

        def skip_blocks(data: bytes, at: int) -> int:
            before = 0
            while True:
                count, at = _long(data, at)
                if count == 0:
                    return at
                if count < 0:
                    count = -count
                    size, at = _long(data, at)
                    if not 0 <= size <= len(data) - at:
                        raise _Misfit(f"a block of {size} bytes, and {len(data) - at} are left")
                if not is_empty and count > len(data) - at:
                    raise _Misfit(f"a block of {count} items, and {len(data) - at} bytes are left")
                budget.left -= count * memory
                if budget.left < 0:
                    raise budget.exceeded()
                if is_empty:
                    left = budget.left
                    at = item(data, at, before)
                    budget.spend((left - budget.left) * (count - 1))
                else:
                    for number in range(before, before + count):
                        at = item(data, at, number)
                before += count

        return skip_blocks


def _unmade(_: bytes, __: int) -> int:
    raise AssertionError("a type is used while it is made")


def _union(branches: list[Skip]) -> Skip:
    def skip_union(data: bytes, at: int) -> int:
        number, at = _long(data, at)
        if not 0 <= number < len(branches):
            raise _Misfit(f"there is no branch {number} in a union of {len(branches)}")
        return branches[number](data, at)

    return skip_union


def _numbered(value: Skip) -> Item:
    def skip_item(data: bytes, at: int, number: int) -> int:
        try:
            return value(data, at)
        except _Misfit as misfit:
            misfit.path.append(str(number))
            raise

    return skip_item


def _keyed(value: Skip) -> Item:
    def skip_entry(data: bytes, at: int, _: int) -> int:
        start = _string(data, at)
        try:
            return value(data, start)
        except _Misfit as misfit:
            length, begin = _long(data, at)
            misfit.path.append(data[begin : begin + min(length, 100)].decode(errors="replace"))
            raise

    return skip_entry


def _enum(symbols: int) -> Skip:
    def skip_enum(data: bytes, at: int) -> int:
        number, at = _long(data, at)
        if not 0 <= number < symbols:
            raise _Misfit(f"there is no symbol {number} in an enum of {symbols}")
        return at

    return skip_enum


def _fixed(size: int) -> Skip:
    def skip_fixed(data: bytes, at: int) -> int:
        if at + size > len(data):
            raise _Misfit(f"the value is cut off: {size} bytes are missing at byte {at}")
        return at + size

    return skip_fixed


def _decimal_fixed(schema: Mapping[str, Any]) -> Skip:
    size = schema["size"]
    if size <= LARGEST_DECIMAL:
        return _fixed(size)

    def refuse(_: bytes, __: int) -> int:
        raise _large_decimal(size)

    return refuse


def _decimal(data: bytes, at: int) -> int:
    length, start = _long(data, at)
    if length > LARGEST_DECIMAL:
        raise _large_decimal(length)
    if not 0 <= length <= len(data) - start:
        raise _Misfit(f"a length of {length} bytes, and {len(data) - start} are left")
    return start + length


def _large_decimal(size: int) -> DecodingLimit:
    return DecodingLimit(f"a decimal may have {LARGEST_DECIMAL} bytes, and one has {size}")


def _long(data: bytes, at: int) -> tuple[int, int]:
    """A decoded zigzag varint, and the position after it."""
    try:
        byte = data[at]
        at += 1
        if byte < 0x80:
            return byte >> 1 ^ -(byte & 1), at
        number, shift = byte & 0x7F, 7
        while True:
            byte = data[at]
            at += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 63:
                raise _Misfit(f"a number of more than 64 bits ends at byte {at}")
    except IndexError:
        raise _Misfit(f"the value is cut off at byte {at}") from None
    if number >> 64:
        raise _Misfit(f"a number of more than 64 bits ends at byte {at}")
    return number >> 1 ^ -(number & 1), at


def _skip_long(data: bytes, at: int) -> int:
    return _long(data, at)[1]


def _skip_int(data: bytes, at: int) -> int:
    number, at = _long(data, at)
    if not -(1 << 31) <= number < 1 << 31:
        raise _Misfit(f"{number} does not fit into an int")
    return at


def _skip_boolean(data: bytes, at: int) -> int:
    if at >= len(data):
        raise _Misfit(f"the value is cut off at byte {at}")
    if data[at] > 1:
        raise _Misfit(f"{data[at]} is no boolean")
    return at + 1


def _bytes(data: bytes, at: int) -> int:
    length, at = _long(data, at)
    if not 0 <= length <= len(data) - at:
        raise _Misfit(f"a length of {length} bytes, and {len(data) - at} are left")
    return at + length


def _string(data: bytes, at: int) -> int:
    length, at = _long(data, at)
    if not 0 <= length <= len(data) - at:
        raise _Misfit(f"a length of {length} bytes, and {len(data) - at} are left")
    end = at + length
    part = data[at:end]
    if not part.isascii():
        try:
            part.decode()
        except UnicodeDecodeError as error:
            raise _Misfit(f"the string has a byte at {error.start} that is no UTF-8") from None
    return end


_PRIMITIVES: dict[str, Skip] = {
    "null": lambda _, at: at,
    "boolean": _skip_boolean,
    "int": _skip_int,
    "long": _skip_long,
    "float": _fixed(4),
    "double": _fixed(8),
    "bytes": _bytes,
    "string": _string,
}
