"""JSON Schema compatibility: why a schema does not accept every value of another one.

The rules and the names of the reasons are those that schema registries document. They are applied to the meaning of
schemas and not to their text: each condition of the reader has to follow from one of the writer. Titles, descriptions,
formats, defaults and other annotations are ignored.
"""

from goqueue.core.schemas.formats import Incompatibility
from goqueue.core.schemas.json_schema.arrays import array_problems
from goqueue.core.schemas.json_schema.combined import combined_problems
from goqueue.core.schemas.json_schema.objects import object_problems
from goqueue.core.schemas.json_schema.scalars import bound_problems, pattern_problems, type_problems, value_problems
from goqueue.core.schemas.json_schema.shape import Shape
from goqueue.core.schemas.json_schema.written import Written

__all__ = ["compare_shapes"]

MOST_STEPS = 50_000
"""More than any schema has parts, so only schemas that branch repeatedly reach it; that takes a second or two."""
DEEPEST = 100
MOST_REASONS = 100

Key = tuple[frozenset[int], frozenset[int], int]


class _TooComplex(Exception):
    """The comparison exceeded its limit."""


def compare_shapes(reader: Shape, writer: Shape) -> list[Incompatibility]:
    try:
        return _Comparison().compare(Written.of([writer]), reader, "#")[:MOST_REASONS]
    except (_TooComplex, RecursionError):
        why = f"the comparison was given up after {MOST_STEPS} steps, or {DEEPEST} schemas deep"
        return [Incompatibility("SCHEMAS_TOO_COMPLEX", "#/", why)]


class _Comparison:
    """A pair that occurs again within itself counts as compatible: a mismatch is found at the outer occurrence.

    An answer that relies on such an assumption is not cached, because the assumption may turn out wrong.
    """

    def __init__(self) -> None:
        self._steps = 0
        self._open: set[Key] = set()
        self._guesses = 0
        self._fine: set[Key] = set()
        # Keys are ids, so their objects must stay alive, lest an id be reused.
        self._kept: list[Written] = []

    def compare(self, writer: Written, reader: Shape, path: str) -> list[Incompatibility]:
        if reader.truth is True or reader in writer.shapes or writer.nothing():
            return []
        key = (*writer.key(), id(reader))
        if key in self._fine:
            return []
        if key in self._open:
            self._guesses += 1
            return []
        self._steps += 1
        if self._steps > MOST_STEPS or len(self._open) >= DEEPEST:
            raise _TooComplex
        guesses = self._guesses
        self._open.add(key)
        self._kept.append(writer)
        found = self._problems(writer, reader, path)
        self._open.remove(key)
        if not found and guesses == self._guesses:
            self._fine.add(key)
        return found

    def _problems(self, writer: Written, reader: Shape, path: str) -> list[Incompatibility]:
        if reader.truth is False:
            return [Incompatibility("TYPE_CHANGED", path, "the reader takes no value here; the writer may write one")]
        found = [
            *type_problems(writer, reader, path),
            *value_problems(writer, reader, path),
            *bound_problems(writer, reader, path),
            *pattern_problems(writer, reader, path),
            *object_problems(writer, reader, path, self.compare),
            *array_problems(writer, reader, path, self.compare),
            *combined_problems(writer, reader, path, self.compare),
        ]
        for pointer, part in reader.parts:
            found.extend(self.compare(writer, part, path if pointer.endswith("ef") else f"{path}/{pointer}"))
        return [] if found and self._fits_in_each_case(writer, reader, path) else found

    def _fits_in_each_case(self, writer: Written, reader: Shape, path: str) -> bool:
        return any(
            all(not self.compare(writer.also(branch, settled=each), reader, path) for branch in each.branches)
            for each in writer.open_sums()
        )
