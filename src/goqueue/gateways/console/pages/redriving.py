"""Many dead letters at once: look what would happen, send them back as fast as allowed, or purge them.

A redrive goes on step by step for as long as the page is open, and each step says where the next one begins. So nothing
has to be remembered between them, and it can be stopped at any time without anything being half done.
"""

from typing import Annotated, Any, Literal

import msgspec

from goqueue.engine.workbench.desk import Desk
from goqueue.engine.workbench.mending import Edit
from goqueue.engine.workbench.redrive import Orders, Report, purge, redrive
from goqueue.engine.workbench.search import Wanted
from goqueue.errors import InvalidRequest
from goqueue.gateways.console.cursors import cursor, numbers, place
from goqueue.gateways.console.letters import Filter, desk_in, is_on_list, ticked
from goqueue.gateways.console.page import Answer, Html, Page, Part
from goqueue.gateways.console.visit import Visit
from goqueue.model.topic import topic_name

__all__ = ["PART"]

STEP = 500
MOST_COUNTED = 100_000
"""Letters that are counted before a redrive begins; of more it is only said that there are."""
FASTEST = 1_000_000

Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]


class Act(Filter, frozen=True, kw_only=True):
    """What is to be done with which letters; and of a redrive under way, how far it came."""

    do: Literal["preview", "redrive", "continue", "purge", "purge-now"]
    scope: Literal["ticked", "matching"] = "ticked"
    to: str = ""
    rate: Annotated[float, msgspec.Meta(gt=0, le=FASTEST)] | None = None
    confirm: str = ""
    after: str = ""
    ends: str = ""
    total: Count = 0
    done: Count = 0
    failed: Count = 0
    trouble: str = ""


async def act(visit: Visit) -> Answer:
    desk, form = desk_in(visit), visit.read_form(Act)
    wanted = _selected(visit, form)
    around = {"topic": visit.params["topic"], "form": form, "given": form.given, "boxes": _boxes(visit)}
    match form.do:
        case "preview":
            report = await redrive(desk, Orders(wanted, _edit(form), dry_run=True, limit=MOST_COUNTED))
            return _answer(visit, "preview", {**around, "report": report, "faults": _faults(report)})
        case "redrive":
            report = await purge(desk, Orders(wanted, dry_run=True, limit=MOST_COUNTED))
            begun = {"after": "", "ends": ".".join(map(str, report.ends)), "is_over": not report.matched}
            state = {"total": report.matched, "has_more": report.last is not None, "done": 0, "failed": 0}
            return _answer(visit, "progress", {**around, **begun, **state, "trouble": ""})
        case "continue":
            return await _step(visit, desk, form, wanted, around)
        case "purge":
            report = await purge(desk, Orders(wanted, dry_run=True, limit=MOST_COUNTED))
            return _answer(visit, "purge", {**around, "report": report, "desk": desk})
        case "purge-now":
            if form.confirm != desk.name:
                raise InvalidRequest("the name does not match, so nothing was purged", hint=f"type {desk.name}")
            report = await purge(desk, Orders(wanted))
            return _answer(visit, "purged", {**around, "report": report})


async def _step(visit: Visit, desk: Desk, form: Act, wanted: Wanted, around: dict[str, Any]) -> Answer:
    limit = STEP if form.rate is None else max(1, int(form.rate))
    ends = numbers(form.ends)
    orders = Orders(wanted, _edit(form), False, limit, form.rate, place(form.after), ends)
    report = await redrive(desk, orders)
    trouble = report.stopped.message if report.stopped else next((one for one, _ in _faults(report)), form.trouble)
    state = {
        "total": form.total,
        "has_more": False,
        "done": form.done + report.done,
        "failed": form.failed + report.failed,
        "after": cursor(report.last),
        "ends": form.ends,
        "trouble": trouble,
        "is_over": report.last is None or report.stopped is not None,
    }
    return _answer(visit, "progress", {**around, **state})


def _answer(visit: Visit, name: str, values: dict[str, Any]) -> Answer:
    shown = {"part": f"dlq_{name}.html", "is_on_list": is_on_list(visit), **values}
    return Html(f"dlq_{name}.html" if visit.is_partial else "dlq_act.html", shown)


def _selected(visit: Visit, form: Act) -> Wanted:
    if form.scope == "matching":
        return form.wanted
    places = ticked(visit.fields)
    if not places:
        raise InvalidRequest("no letter is ticked", hint="tick some, or choose all that match the filter")
    return Wanted(places=places)


def _boxes(visit: Visit) -> list[str]:
    return [f"letter-{partition}.{offset}" for partition, offset in ticked(visit.fields)]


def _edit(form: Act) -> Edit:
    return Edit(topic=topic_name(form.to.strip()) if form.to.strip() else None)


def _faults(report: Report) -> list[tuple[str, int]]:
    """What went wrong, and how often among those that are told one by one."""
    found: dict[str, int] = {}
    for one in report.failures:
        found[one.error.message] = found.get(one.error.message, 0) + 1
    return sorted(found.items(), key=lambda pair: -pair[1])[:5]


PART = Part(pages=(Page("POST", "/dlq/{topic}/act", act),))
