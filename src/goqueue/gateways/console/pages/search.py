"""The search field at the top: topics and groups by a part of their names."""

from collections.abc import Iterable

import msgspec

from goqueue.gateways.console.links import link
from goqueue.gateways.console.page import Answer, Html, Page, Part, Redirect
from goqueue.gateways.console.visit import Visit

__all__ = ["PART"]

MOST_FOUND = 50


class SearchQuery(msgspec.Struct, frozen=True):
    q: str = ""


async def search(visit: Visit) -> Answer:
    wanted = visit.read_query(SearchQuery).q.strip()
    topics = _matches((topic.name for topic in visit.broker.catalog), wanted)
    groups = _matches((group.name for group in visit.broker.groups), wanted)
    if len(topics) == 1 and not groups:
        return Redirect(link("topics", topics[0]))
    if len(groups) == 1 and not topics:
        return Redirect(link("groups", groups[0]))
    return Html("search.html", {"q": wanted, "topics": topics, "groups": groups})


def _matches(names: Iterable[str], wanted: str) -> list[str]:
    return sorted(name for name in names if wanted.lower() in name.lower())[:MOST_FOUND]


PART = Part(pages=(Page("GET", "/search", search),))
