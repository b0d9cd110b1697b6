"""Transactions: which are open and since when, what they hold back, how they ended; and to abort one that hangs."""

from typing import Annotated, Any

import msgspec

from goqueue.engine.transactions import views
from goqueue.errors import GoQueueError, InvalidRequest, UnknownTransaction
from goqueue.gateways.console.answering import Problem, problem_of
from goqueue.gateways.console.links import link
from goqueue.gateways.console.page import Answer, Html, Live, NavItem, Page, Part, Redirect, Update
from goqueue.gateways.console.visit import Visit

__all__ = ["PART"]

PAGE_ROWS = 100
LARGEST = (1 << 63) - 1
TONES = {"open": "accent", "prepared": "warn", "ending": "", "committed": "good", "aborted": "bad"}

Number = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]


class ListQuery(msgspec.Struct, frozen=True):
    after: Number = 0
    hanging: bool = False
    number: Number | None = None


class Params(msgspec.Struct, frozen=True):
    transaction: Number


class Confirmation(msgspec.Struct, frozen=True):
    number: str = ""


async def listing(visit: Visit) -> Answer:
    query = visit.read_query(ListQuery)
    if query.number is not None:
        return Redirect(link("transactions", query.number))
    return Html("transactions.html", _all(visit, query))


async def feed(visit: Visit, _: bool) -> Update:
    values = _all(visit, visit.read_query(ListQuery))
    parts = {"transaction-facts": "transactions_facts.html", "transactions": "transactions_rows.html"}
    return Update(html={name: visit.fragment(template, values) for name, template in parts.items()})


async def details(visit: Visit) -> Answer:
    return _one(visit)


async def abort(visit: Visit) -> Answer:
    number = _number(visit)
    try:
        if visit.read_form(Confirmation).number != str(number):
            raise InvalidRequest("the number does not match, so nothing was aborted", hint=f"type {number}")
        await views.abort_as_operator(visit.broker, number)
    except GoQueueError as refusal:
        return _one(visit, problem_of(refusal))
    return Redirect(link("transactions", number), "transaction-aborted")


def _number(visit: Visit) -> int:
    try:
        return msgspec.convert(visit.params, Params, strict=False).transaction
    except msgspec.ValidationError:
        raise UnknownTransaction("there is no such transaction", hint="transactions have numbers") from None


def _all(visit: Visit, query: ListQuery) -> dict[str, Any]:
    page = views.list_live(visit.broker, after=query.after, limit=PAGE_ROWS, hanging=query.hanging)
    return {
        "stats": views.transaction_stats(visit.broker),
        "rows": page.transactions,
        "live": page.live,
        "next": page.after,
        "query": query,
        "tones": TONES,
        "now": visit.now,
    }


def _one(visit: Visit, problem: Problem | None = None) -> Answer:
    view = views.describe(visit.broker, _number(visit))
    values = {"view": view, "tones": TONES, "problem": problem, "now": visit.now}
    return Html("transaction.html", values, 400 if problem else 200)


PART = Part(
    pages=(
        Page("GET", "/transactions", listing),
        Page("GET", "/transactions/{transaction}", details),
        Page("POST", "/transactions/{transaction}/abort", abort),
    ),
    live=(Live("/live/transactions", feed),),
    nav=(NavItem("Insight", "Transactions", "/transactions", "transactions", "x"),),
)
