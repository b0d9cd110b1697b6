"""All topics, and a new one."""

from typing import Annotated

import msgspec

from goqueue.core.catalog.catalog import DEFAULT_PARTITIONS
from goqueue.engine.topics import create_topic
from goqueue.errors import GoQueueError
from goqueue.gateways.console.answering import problem_of
from goqueue.gateways.console.links import link
from goqueue.gateways.console.page import Answer, Html, NavItem, Page, Part, Redirect
from goqueue.gateways.console.pages.overview import topic_rows
from goqueue.gateways.console.topic_form import SECTIONS, config_of, texts_of
from goqueue.gateways.console.visit import Visit
from goqueue.model.topic import MOST_PARTITIONS, TopicConfig, topic_name

__all__ = ["PART"]

PAGE_ROWS = 100


class ListQuery(msgspec.Struct, frozen=True):
    q: str = ""
    page: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 1


class NewTopic(msgspec.Struct, frozen=True):
    name: str
    partitions: Annotated[int, msgspec.Meta(ge=1, le=MOST_PARTITIONS)] = DEFAULT_PARTITIONS


async def listing(visit: Visit) -> Answer:
    query = visit.read_query(ListQuery)
    rows = [row for row in topic_rows(visit.broker, visit.desk.history) if query.q.lower() in row.name.lower()]
    rows.sort(key=lambda row: row.name)
    first = (query.page - 1) * PAGE_ROWS
    values = {
        "topics": rows[first : first + PAGE_ROWS],
        "total": len(rows),
        "first": first,
        "q": query.q,
        "page": query.page,
        "has_more": first + PAGE_ROWS < len(rows),
    }
    return Html("topics_rows.html" if visit.is_partial else "topics.html", values)


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
