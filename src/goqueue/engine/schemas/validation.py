"""Validation of values against the schemas of their topic before they are published.

Validation runs on the event loop, since most values are small and the libraries hold the interpreter lock wherever they
run. A longer batch is validated in slices, with pauses for other tasks. A value that may take longer than a slice is
validated in a thread.
"""

import asyncio
import types
from collections.abc import Generator, Sequence
from typing import NamedTuple

from goqueue.codec.compression import decompress
from goqueue.core.schemas.payloads import FRAME_BYTES, Payloads, Problem, framed_id, payloads_of
from goqueue.engine.broker import Broker
from goqueue.engine.schemas.parsing import parsed_schema
from goqueue.engine.schemas.rules import Rules
from goqueue.engine.schemas.values import (
    BYTES_PER_VALUE,
    LARGE_VALUE,
    SLICE_BYTES,
    EncodedValues,
    Value,
    Values,
    value_of,
)
from goqueue.engine.shielded import shielded
from goqueue.errors import CorruptBatch, GoQueueError, SchemaViolation
from goqueue.model.record import Record
from goqueue.model.topic import Topic

__all__ = ["BatchCheck", "check_record", "first_violation", "record_violations"]

Waiting = dict[int, tuple[list[int], list[bytes]]]
"""Indexes of records and their payloads, by schema id."""


async def check_record(broker: Broker, topic: Topic, record: Record) -> None:
    """Raise SchemaViolation if the record may not be published."""
    rules = broker.value_rules.of(topic)
    if rules is None:
        return
    check = BatchCheck(broker, rules, [value_of(record)])
    await check.finish()
    for refusal in check.violations.values():
        raise refusal
    # Callers that check many records leave time for other tasks.
    await _others_turn()


async def record_violations(broker: Broker, topic: Topic, records: Sequence[Record]) -> dict[int, SchemaViolation]:
    """The violations of records that may not be published, by index."""
    rules = broker.value_rules.of(topic)
    if rules is None:
        return {}
    check = BatchCheck(broker, rules, [value_of(record) for record in records], all_of_them=True)
    await check.finish()
    return check.violations


def first_violation(broker: Broker, rules: Rules, records: bytes | bytearray) -> "SchemaViolation | BatchCheck | None":
    """The first violation in encoded records. An unfinished check is returned, to be continued."""
    check = BatchCheck(broker, rules, EncodedValues(records))
    return check.first() if check.advance() else check


class _Large(NamedTuple):
    """A value that is checked in a thread."""

    number: int
    schema_id: int
    schema: Payloads
    payload: bytes


class BatchCheck:
    """The check of a batch's values; those before `at` are checked."""

    def __init__(self, broker: Broker, rules: Rules, values: Values, *, all_of_them: bool = False) -> None:
        self.violations: dict[int, SchemaViolation] = {}
        self._broker = broker
        self._rules = rules
        self._values = values
        self._all = all_of_them
        self._at = 0
        self._missing: int | None = None
        self._large: _Large | None = None
        self._parsed: dict[int, Payloads] = {}
        """Schemas that were parsed for this check."""

    def first(self) -> SchemaViolation | None:
        """The violation of the first invalid record, with its index."""
        if not self.violations:
            return None
        number = min(self.violations)
        refusal = self.violations[number]
        return SchemaViolation(f"record {number}: {refusal.message}", hint=refusal.hint)

    def advance(self) -> bool:
        """Check a slice; returns whether that was the last.

        If a schema must be parsed first, nothing is checked; before a large value, only the values before it are.
        """
        if self._waits() or self._is_done():
            return not self._waits()
        run = self._plain_run()
        if run:
            self._at += run
            return self._at == len(self._values)
        waiting: Waiting = {}
        left, at, values, total = SLICE_BYTES, self._at, self._values, len(self._values)
        while at < total and left > 0:
            given = values[at]
            if given is not None:
                size = self._sort(at, given, waiting)
                if self._missing is not None:
                    return False
                left -= BYTES_PER_VALUE + size
            at += 1
            if self._waits():
                break
        for schema_id, (numbers, payloads) in waiting.items():
            self._check(schema_id, numbers, payloads)
        self._at = at
        return self._is_done() and not self._waits()

    def _waits(self) -> bool:
        """Whether a large value must be checked first."""
        return self._large is not None

    def _is_done(self) -> bool:
        return self._at == len(self._values) or (bool(self.violations) and not self._all)

    async def finish(self) -> None:
        """Check the remaining slices, with a pause after each."""
        while not self.advance():
            if self._missing is not None:
                missing, self._missing = self._missing, None
                self._parsed[missing] = await _made_payloads(self._broker, missing)
            elif self._large is not None:
                large, self._large = self._large, None
                await self._check_large(large)
            else:
                await _others_turn()

    async def _check_large(self, large: "_Large") -> None:
        broker = self._broker
        async with broker.checking_large_value:
            loop = asyncio.get_running_loop()
            problem = await loop.run_in_executor(broker.parsers, large.schema.problem_of_large, large.payload)
        if problem is not None:
            self._refuse(large.number, _told(problem), self._named(large.schema_id))

    def _plain_run(self) -> int:
        """Number of next values that fit the schema for unframed values: usually the whole slice."""
        plain = self._rules.plain
        schema = None if plain is None else self._payloads(plain)
        if schema is None or not isinstance(self._values, EncodedValues):
            return 0
        # A framed value is not JSON, so it does not fit this schema.
        run = self._values.run(self._at)
        return len(run) if schema.fit(run) else 0

    def _sort(self, number: int, given: Value, waiting: Waiting) -> int:
        """Add the payload to those of its schema; returns the size of the value."""
        value, is_compressed = given
        if is_compressed:
            try:
                value = decompress(value)
            except CorruptBatch as reason:
                self._refuse(number, reason.message)
                return 0
        schema_id = framed_id(value)
        if schema_id is None:
            if self._rules.plain is None:
                self._refuse(number, _why_not_plain(self._rules))
                return 0
            schema_id = self._rules.plain
        elif schema_id in self._rules.ids:
            value = value[FRAME_BYTES:]
        else:
            self._refuse(number, f"schema {schema_id} is none of the subject {self._rules.subject}")
            return 0
        some = waiting.get(schema_id)
        if some is None or len(value) > LARGE_VALUE:
            schema = self._payloads(schema_id)
            if schema is None:
                self._missing = schema_id
                return 0
            if len(value) > LARGE_VALUE:
                self._large = _Large(number, schema_id, schema, value)
                return 0
            some = waiting[schema_id] = ([], [])
        some[0].append(number)
        some[1].append(value)
        return len(value)

    def _check(self, schema_id: int, numbers: Sequence[int], payloads: Sequence[bytes]) -> None:
        schema = self._payloads(schema_id)
        assert schema is not None
        if schema.fit(payloads):
            return
        for number, payload in zip(numbers, payloads, strict=True):
            problem = schema.problem(payload)
            if problem is not None:
                self._refuse(number, _told(problem), self._named(schema_id))
                if not self._all:
                    return

    def _named(self, schema_id: int) -> str:
        return f"schema {schema_id} of the subject {self._rules.subject}"

    def _refuse(self, number: int, reason: str, schema: str | None = None) -> None:
        self.violations[number] = SchemaViolation(f"{reason} ({schema})" if schema else reason)

    def _payloads(self, schema_id: int) -> Payloads | None:
        return self._broker.value_rules.payloads(schema_id) or self._parsed.get(schema_id)


async def _made_payloads(broker: Broker, schema_id: int) -> Payloads:
    """Create the checker of a schema once, however many tasks wait for it."""
    making = broker.value_rules.making
    if schema_id not in making:
        task = making[schema_id] = asyncio.ensure_future(_make_payloads(broker, schema_id))
        task.add_done_callback(lambda _: making.pop(schema_id))
    return await shielded(making[schema_id])


async def _make_payloads(broker: Broker, schema_id: int) -> Payloads:
    purges = broker.schemas.purges
    try:
        _, parsed = await parsed_schema(broker, schema_id)
        payloads = await asyncio.get_running_loop().run_in_executor(broker.parsers, payloads_of, parsed)
    except GoQueueError as reason:
        # The schema may have been deleted for good, or cannot be parsed at the moment.
        return _Unusable(f"the schema cannot be used: {reason.message}")
    broker.value_rules.keep(schema_id, payloads, purges=purges)
    return payloads


class _Unusable:
    """The checker of a schema that cannot be used."""

    def __init__(self, reason: str) -> None:
        self._problem = Problem("", reason)

    def fit(self, payloads: Sequence[bytes]) -> bool:
        return not payloads

    def problem(self, _: bytes) -> Problem | None:
        return self._problem

    problem_of_large = problem


@types.coroutine
def _others_turn() -> Generator[None]:
    yield


def _told(problem: Problem) -> str:
    return f"at {problem.path}: {problem.reason}" if problem.path else problem.reason


def _why_not_plain(rules: Rules) -> str:
    if not rules.ids:
        return f"the subject {rules.subject} has no schema, and the topic takes only what fits one"
    return f"the value names no schema, as those of {rules.type} do in front"
