"""What a part of the console is made of: pages, live feeds, and its places in the navigation."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

import msgspec

from goqueue.gateways.console.timeline import Points
from goqueue.gateways.console.visit import Visit

__all__ = ["Answer", "Feed", "Html", "Live", "NavItem", "Page", "Part", "Redirect", "Update"]


class Html(msgspec.Struct, frozen=True):
    """A template and what it shows."""

    template: str
    values: Mapping[str, Any]
    status: int = 200


class Redirect(msgspec.Struct, frozen=True):
    """Where to go on after something was changed. `notice` names a sentence of `notices.py` to be shown there."""

    to: str
    notice: str = ""


Answer = Html | Redirect
Handler = Callable[[Visit], Awaitable[Answer]]


class Page(msgspec.Struct, frozen=True):
    """A handler at a path such as `/topics/{topic}`."""

    method: Literal["GET", "POST"]
    path: str
    handler: Handler


class Update(msgspec.Struct, frozen=True):
    """What is new: points by the name of the chart, values and fragments of HTML by the id of their element."""

    charts: dict[str, Points] = {}
    html: dict[str, str] = {}
    first: bool = False
    """The charts start again with these points."""


Feed = Callable[[Visit, bool], Awaitable[Update]]
"""Asked once a second while a page is open; the second argument says whether it is the first time."""


class Live(msgspec.Struct, frozen=True):
    """A feed at a path; the page names it in the attribute `data-live`."""

    path: str
    feed: Feed


class NavItem(msgspec.Struct, frozen=True):
    """A line of the navigation. With `g` and its key, the keyboard goes there."""

    section: str
    label: str
    path: str
    icon: str
    key: str


class Part(msgspec.Struct, frozen=True):
    """Everything that one file of `pages/` adds."""

    pages: tuple[Page, ...]
    live: tuple[Live, ...] = ()
    nav: tuple[NavItem, ...] = ()
