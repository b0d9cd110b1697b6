"""Parser cache: schemas are parsed on demand, with all references, and the last ones are kept."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from goqueue.core.schemas.formats import SchemaFormat
from goqueue.core.schemas.schema import Reference, Schema
from goqueue.errors import InvalidSchema

__all__ = ["ParseJob", "Parser"]

MOST_KEPT = 500
MOST_CHARACTERS_KEPT = 4 * 1024 * 1024
MOST_REFERRED_TO = 1000
MOST_CHARACTERS_REFERRED_TO = 4 * 1024 * 1024


class ParseJob(NamedTuple):
    """All input for parsing a schema: `run` can be called in any thread."""

    schema: Schema
    format: SchemaFormat
    references: dict[str, str]

    def run(self) -> Any:
        return self.format.parse(self.schema.text, self.references)


class Parser:
    """`find` gives the schema of a reference, or None."""

    def __init__(self, formats: Mapping[str, SchemaFormat], find: Callable[[Reference], Schema | None]) -> None:
        self._formats = formats
        self._find = find
        self._kept: OrderedDict[Schema, Any] = OrderedDict()
        self._characters = 0
        self._is_bounded = True

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(self._formats)

    def format(self, schema: Schema) -> SchemaFormat:
        try:
            return self._formats[schema.type]
        except KeyError:
            raise InvalidSchema(
                f"there is no schema type {schema.type[:40]!r}", hint=f"one of {', '.join(self._formats)}"
            ) from None

    def parse(self, schema: Schema) -> Any:
        if schema in self._kept:
            self._kept.move_to_end(schema)
            return self._kept[schema]
        parsed = self.job(schema).run()
        self._keep(schema, parsed)
        return parsed

    def __contains__(self, schema: Schema) -> bool:
        return schema in self._kept

    def job(self, schema: Schema) -> ParseJob:
        return ParseJob(schema, self.format(schema), self._referred_to(schema))

    def keep(self, job: ParseJob, parsed: Any) -> None:
        """Does nothing when a referenced schema has been removed or replaced meanwhile."""
        if self._is_current(job):
            self._keep(job.schema, parsed)

    def having(self, done: Iterable[tuple[ParseJob, Any]]) -> "Parser":
        """A parser for a single decision: it has all results that are still valid, however many, and shares nothing."""
        other = Parser(self._formats, self._find)
        other._is_bounded = False
        other._kept = OrderedDict(self._kept)
        other._kept.update((job.schema, parsed) for job, parsed in done if self._is_current(job))
        return other

    def forget(self) -> None:
        """Called after a permanent deletion: a reference may now resolve to another schema."""
        self._kept.clear()
        self._characters = 0

    def _is_current(self, job: ParseJob) -> bool:
        try:
            return job == self.job(job.schema)
        except InvalidSchema:
            return False

    def _keep(self, schema: Schema, parsed: Any) -> None:
        if schema in self._kept:
            return
        self._kept[schema] = parsed
        self._characters += len(schema.text)
        while self._is_bounded and (len(self._kept) > MOST_KEPT or self._characters > MOST_CHARACTERS_KEPT):
            oldest, _ = self._kept.popitem(last=False)
            self._characters -= len(oldest.text)

    def _referred_to(self, schema: Schema) -> dict[str, str]:
        """Texts by name, each after those it refers to. Without recursion: chains of references may be long."""
        texts: dict[str, str] = {}
        places: dict[str, Reference] = {}
        ways = [iter(schema.references)]
        waiting: list[tuple[str, str]] = []
        characters = 0
        while ways:
            reference = next(ways[-1], None)
            if reference is None:
                ways.pop()
                if waiting:
                    name, text = waiting.pop()
                    texts[name] = text
                continue
            if reference.name in places:
                _check_same(places[reference.name], reference)
                continue
            places[reference.name] = reference
            found = self._found(reference, schema.type)
            characters += len(found.text)
            if len(places) > MOST_REFERRED_TO or characters > MOST_CHARACTERS_REFERRED_TO:
                raise InvalidSchema("the schema refers, directly or not, to too many or too large schemas")
            ways.append(iter(found.references))
            waiting.append((reference.name, found.text))
        return texts

    def _found(self, reference: Reference, kind: str) -> Schema:
        found = self._find(reference)
        if found is None:
            raise InvalidSchema(
                f"the reference {reference.name[:100]!r} leads to version {reference.version} of the subject "
                f"{reference.subject[:249]!r}, and there is none",
                hint="register what a schema refers to first",
            )
        if found.type != kind:
            raise InvalidSchema(f"the reference {reference.name[:100]!r} leads from {kind} to {found.type}")
        return found


def _check_same(known: Reference, other: Reference) -> None:
    if known != other:
        raise InvalidSchema(
            f"the name {known.name[:100]!r} leads to version {known.version} of {known.subject!r:.260} "
            f"and to version {other.version} of {other.subject!r:.260}",
            hint="let all that is referred to use one version of it",
        )
