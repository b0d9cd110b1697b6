"""Search field at the top: topics and groups by a part of their names."""

import heapq
from collections.abc import Iterable

import msgspec

from goqueue.engine.slices import in_slices
from goqueue.gateways.console.links import link
from goqueue.gateways.console.page import Answer, Html, Page, Part, Redirect
from goqueue.gateways.console.visit import Visit

__all__ = ["PART"]

MOST_FOUND = 50
NAMES_IN_A_SLICE = 5000


class SearchQuery(msgspec.Struct, frozen=True):
    q: str = ""


async def search(visit: Visit) -> Answer:
    wanted = visit.read_query(SearchQuery).q.strip()
    topics = await _matches([topic.name for topic in visit.broker.catalog], wanted)
    groups = await _matches([group.name for group in visit.broker.groups], wanted)
    if len(topics) == 1 and not groups:
        return Redirect(link("topics", topics[0]))
    if len(groups) == 1 and not topics:
        return Redirect(link("groups", groups[0]))
    return Html("search.html", {"q": wanted, "topics": topics, "groups": groups})


async def _matches(names: Iterable[str], wanted: str) -> list[str]:
    found = [name async for name in in_slices(names, NAMES_IN_A_SLICE) if wanted.lower() in name.lower()]
    return heapq.nsmallest(MOST_FOUND, found)


PART = Part(pages=(Page("GET", "/search", search),))
