"""Topics: the list of all of them, and a new one."""

from collections.abc import Callable, Mapping
from typing import Annotated

import msgspec

from goqueue.core.catalog.catalog import DEFAULT_PARTITIONS
from goqueue.engine.slices import in_slices
from goqueue.engine.topics import create_topic
from goqueue.errors import GoQueueError
from goqueue.gateways.console.answering import problem_of
from goqueue.gateways.console.links import link
from goqueue.gateways.console.page import Answer, Html, NavItem, Page, Part, Redirect
from goqueue.gateways.console.sorted_pages import ListQuery, ordering, sorted_page
from goqueue.gateways.console.topic_form import SECTIONS, config_of, texts_of
from goqueue.gateways.console.topic_rows import TopicRow, topic_rows
from goqueue.gateways.console.visit import Visit
from goqueue.model.topic import MOST_PARTITIONS, TopicConfig, topic_name

__all__ = ["PART"]

COLUMNS: Mapping[str, Callable[[TopicRow], float]] = {
    "partitions": lambda row: row.partitions,
    "records": lambda row: row.records,
    "in": lambda row: row.published,
    "out": lambda row: row.delivered,
    "lag": lambda row: -1 if row.lag is None else row.lag,
    "letters": lambda row: row.letters,
    "kept": lambda row: row.retention_ms,
    "size": lambda row: row.size,
}
"""That the list can be sorted by, beside the name."""


class NewTopic(msgspec.Struct, frozen=True):
    name: str
    partitions: Annotated[int, msgspec.Meta(ge=1, le=MOST_PARTITIONS)] = DEFAULT_PARTITIONS


async def listing(visit: Visit) -> Answer:
    query = visit.read_query(ListQuery)
    wanted = query.q.lower()
    rows = in_slices([row for row in await topic_rows(visit.desk) if wanted in row.name.lower()])
    found = await sorted_page(rows, ordering(query.sort, lambda row: row.name, COLUMNS), query.page)
    return Html("topics_rows.html" if visit.is_partial else "topics.html", {"found": found, "query": query})


async def new(_: Visit) -> Answer:
    return Html("topic_new.html", _form(texts_of(TopicConfig())))


async def create(visit: Visit) -> Answer:
    try:
        wanted = visit.read_form(NewTopic)
        config = config_of(TopicConfig(), visit.fields)
        topic = await create_topic(visit.broker, topic_name(wanted.name), wanted.partitions, config)
    except GoQueueError as refusal:
        problem = problem_of(refusal)
        return Html("topic_new.html", {**_form({**texts_of(TopicConfig()), **visit.fields}), "problem": problem}, 400)
    return Redirect(link("topics", topic.name), "topic-created")


def _form(texts: dict[str, str]) -> dict[str, object]:
    texts = {"name": "", "partitions": str(DEFAULT_PARTITIONS), **texts}
    return {"sections": SECTIONS, "texts": texts, "problem": None, "most": MOST_PARTITIONS}


PART = Part(
    pages=(
        Page("GET", "/topics", listing),
        Page("GET", "/new-topic", new),
        Page("POST", "/new-topic", create),
    ),
    nav=(NavItem("Data", "Topics", "/topics", "topics", "t"),),
)
