"""Parsing of schemas in threads: the largest take a second, and any Protobuf schema tens of milliseconds."""

import asyncio
from collections.abc import Sequence
from typing import Any

from goqueue.core.schemas.formats import SchemaFormat
from goqueue.core.schemas.parsing import ParseJob
from goqueue.core.schemas.schema import Schema, check_schema
from goqueue.engine.broker import Broker

__all__ = ["Parsed", "parsed_schema", "readable", "run_jobs", "serialized_text"]

Parsed = list[tuple[ParseJob, Any]]


async def parsed_schema(broker: Broker, schema_id: int) -> tuple[SchemaFormat, Any]:
    """The parsed schema, for reading and checking data. Usually it is cached and nothing is waited for."""
    job = broker.schemas.unparsed_id(schema_id)
    if job is None:
        return broker.schemas.parsed(schema_id)
    ((_, parsed),) = await run_jobs(broker, [job])
    return job.format, parsed


async def readable(broker: Broker, schema: Schema) -> Schema:
    """The schema with its text: some clients send a Protobuf schema as a descriptor, which is kept as its source text.

    Both forms are then the same schema.
    """
    check_schema(schema)
    if schema.type != "PROTOBUF" or ";" in schema.text:
        return schema
    loop = asyncio.get_running_loop()
    text = await loop.run_in_executor(broker.parsers, _protobuf_source, schema.text)
    return Schema(schema.type, text, schema.references)


def _protobuf_source(text: str) -> str:
    # The Protobuf library is imported with the first schema of its kind.
    from goqueue.core.schemas.protobuf.format import as_source

    return as_source(text, "the schema")


async def serialized_text(broker: Broker, schema_id: int) -> str | None:
    """A Protobuf schema as its descriptor in base64; None for other formats."""
    if broker.schemas.view.schema(schema_id).type != "PROTOBUF":
        return None
    _, parsed = await parsed_schema(broker, schema_id)
    serialized: str = parsed.serialized()
    return serialized


async def run_jobs(broker: Broker, jobs: Sequence[ParseJob]) -> Parsed:
    """Run parse jobs in a thread; the results are cached."""
    loop = asyncio.get_running_loop()
    results = await loop.run_in_executor(broker.parsers, _all, jobs)
    done = list(zip(jobs, results, strict=True))
    for job, parsed in done:
        broker.schemas.keep(job, parsed)
    return done


def _all(jobs: Sequence[ParseJob]) -> list[Any]:
    return [job.run() for job in jobs]
