"""Whether bytes are a value of an Avro schema.

The library that reads Avro elsewhere must not read what strangers send: it follows a recursive schema down until the
process has no stack left, and an array of nulls as long as it claims to be.
"""

from collections.abc import Callable, Mapping

from goqueue.core.schemas.avro.types import (
    Array,
    AvroSchema,
    AvroType,
    Definition,
    Enum,
    Fixed,
    Map,
    Named,
    Record,
    Union,
)

__all__ = ["AvroReader"]

Skip = Callable[[bytes, int], int]
"""From where a value begins to where it ends."""
Item = Callable[[bytes, int, int], int]
"""The same for a part of an array or a map, by its number."""

DEEPEST = 100
"""How many records may be within each other, as many as Protobuf allows messages."""

_ESCAPES = str.maketrans({"~": "~0", "/": "~1"})


class Misfit(Exception):
    """The bytes are none of the schema; `path` is gathered from the inside out."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: list[str] = []


class AvroReader:
    """Made once for each schema, with a function for each of its types."""

    def __init__(self, schema: AvroSchema) -> None:
        self._skip = _Compiler(schema.named).compile(schema.root)

    def problem(self, data: bytes) -> tuple[str, str] | None:
        """Path and reason why the bytes are not a value; None when they are."""
        try:
            end = self._skip(data, 0)
        except Misfit as misfit:
            return "".join(f"/{part.translate(_ESCAPES)}" for part in reversed(misfit.path)), misfit.reason
        except RecursionError:
            return "", "the value is nested too deep"
        if end != len(data):
            return "", f"the value ends at byte {end}, and there are {len(data)}"
        return None


class _Compiler:
    """Makes the functions; those of named types are found when they are called, since types may contain themselves."""

    def __init__(self, named: Mapping[str, Definition]) -> None:
        self._named = named
        self._made: dict[str, Skip] = {}
        self._depth = 0

    def compile(self, kind: AvroType) -> Skip:
        match kind:
            case Union(branches):
                return _union([self.compile(branch) for branch in branches])
            case Array(items):
                return _blocks(_numbered(self.compile(items)))
            case Map(values):
                return _blocks(_keyed(self.compile(values)))
            case Named(name):
                return self._mention(name)
            case _:
                return _PRIMITIVES[kind.kind]

    def _mention(self, name: str) -> Skip:
        definition = self._named[name]
        match definition:
            case Enum(symbols=symbols):
                return _enum(len(symbols))
            case Fixed(size=size):
                return _fixed(size)
        made = self._made
        if name not in made:
            made[name] = _unmade
            made[name] = self._record(definition)

        def mention(data: bytes, at: int) -> int:
            self._depth += 1
            try:
                if self._depth > DEEPEST:
                    raise Misfit(f"records are nested more than {DEEPEST} deep")
                return made[name](data, at)
            finally:
                self._depth -= 1

        return mention

    def _record(self, record: Record) -> Skip:
        steps = [(field.name, self.compile(field.type)) for field in record.fields]

        def skip_record(data: bytes, at: int) -> int:
            for name, skip in steps:
                try:
                    at = skip(data, at)
                except Misfit as misfit:
                    misfit.path.append(name)
                    raise
            return at

        return skip_record


def _unmade(_: bytes, __: int) -> int:
    raise AssertionError("a type is used while it is made")


def _union(branches: list[Skip]) -> Skip:
    def skip_union(data: bytes, at: int) -> int:
        number, at = _long(data, at)
        if not 0 <= number < len(branches):
            raise Misfit(f"there is no branch {number} in a union of {len(branches)}")
        return branches[number](data, at)

    return skip_union


def _blocks(item: Item) -> Skip:
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
                    raise Misfit(f"a block of {size} bytes, and {len(data) - at} are left")
            for number in range(before, before + count):
                end = item(data, at, number)
                if end == at:
                    # An item without bytes: all others are the same, however many are claimed.
                    break
                at = end
            before += count

    return skip_blocks


def _numbered(value: Skip) -> Item:
    def skip_item(data: bytes, at: int, number: int) -> int:
        try:
            return value(data, at)
        except Misfit as misfit:
            misfit.path.append(str(number))
            raise

    return skip_item


def _keyed(value: Skip) -> Item:
    def skip_entry(data: bytes, at: int, _: int) -> int:
        start = _string(data, at)
        try:
            return value(data, start)
        except Misfit as misfit:
            length, begin = _long(data, at)
            misfit.path.append(data[begin : begin + min(length, 100)].decode(errors="replace"))
            raise

    return skip_entry


def _enum(symbols: int) -> Skip:
    def skip_enum(data: bytes, at: int) -> int:
        number, at = _long(data, at)
        if not 0 <= number < symbols:
            raise Misfit(f"there is no symbol {number} in an enum of {symbols}")
        return at

    return skip_enum


def _fixed(size: int) -> Skip:
    def skip_fixed(data: bytes, at: int) -> int:
        if at + size > len(data):
            raise Misfit(f"the value is cut off: {size} bytes are missing at byte {at}")
        return at + size

    return skip_fixed


def _long(data: bytes, at: int) -> tuple[int, int]:
    """A varint with its zigzag undone, and where it ends."""
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
                raise Misfit(f"a number of more than 64 bits ends at byte {at}")
    except IndexError:
        raise Misfit(f"the value is cut off at byte {at}") from None
    if number >> 64:
        raise Misfit(f"a number of more than 64 bits ends at byte {at}")
    return number >> 1 ^ -(number & 1), at


def _skip_long(data: bytes, at: int) -> int:
    return _long(data, at)[1]


def _skip_int(data: bytes, at: int) -> int:
    number, at = _long(data, at)
    if not -(1 << 31) <= number < 1 << 31:
        raise Misfit(f"{number} does not fit into an int")
    return at


def _skip_boolean(data: bytes, at: int) -> int:
    if at >= len(data):
        raise Misfit(f"the value is cut off at byte {at}")
    if data[at] > 1:
        raise Misfit(f"{data[at]} is no boolean")
    return at + 1


def _bytes(data: bytes, at: int) -> int:
    length, at = _long(data, at)
    if not 0 <= length <= len(data) - at:
        raise Misfit(f"a length of {length} bytes, and {len(data) - at} are left")
    return at + length


def _string(data: bytes, at: int) -> int:
    length, at = _long(data, at)
    if not 0 <= length <= len(data) - at:
        raise Misfit(f"a length of {length} bytes, and {len(data) - at} are left")
    end = at + length
    part = data[at:end]
    if not part.isascii():
        try:
            part.decode()
        except UnicodeDecodeError as error:
            raise Misfit(f"the string has a byte at {error.start} that is no UTF-8") from None
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
