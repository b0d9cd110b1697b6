"""Every page of the console: what is listed here is tested in all the ways of `test_pages.py`, and photographed."""

from typing import NamedTuple

from tests.console.demo_workbench import TRACE

__all__ = ["PLACES", "Place"]


class Place(NamedTuple):
    """A path under /console, over the records of `demo.py`; its name is that of the image in docs/images."""

    name: str
    path: str
    ready: str = "main h1"
    """What must be there before the page counts as shown."""


PLACES = (
    Place("overview", "", "[data-chart=published][data-points]"),
    Place("topics", "/topics"),
    Place("new-topic", "/new-topic"),
    Place("topic", "/topics/orders", "[data-chart=published][data-points]"),
    Place("records", "/topics/orders/records", "#records tbody tr"),
    Place("record", "/topics/orders/records/0/0"),
    Place("publish", "/topics/orders/publish"),
    Place("topic-settings", "/topics/orders/settings"),
    Place("groups", "/groups"),
    Place("group", "/groups/fulfilment"),
    Place("queues", "/queues"),
    Place("queue", "/topics/orders/queue?group=fulfilment", "[data-chart=lanes][data-points]"),
    Place("choose-topic", "/publish"),
    Place("search", "/search?q=m"),
    Place("settings", "/settings"),
    Place("dead-letters", "/dlq", "#dead-topics tbody tr"),
    Place("dead-letter-list", "/dlq/returns.dlq", "#letters tbody tr"),
    Place("dead-letter-reasons", "/dlq/returns.dlq/stats"),
    Place("dead-letter", "/dlq/returns.dlq/0/0", "#value"),
    Place("delays", "/delays", "#delay-stats tbody tr"),
    Place("delay-list", "/delays/reminders", "#delays tbody tr"),
    Place("delay", "/delays/reminders/0/30", "#value"),
    Place("schedules", "/schedules", "#schedules tbody tr"),
    Place("schedule", "/schedules/stock-check", "#schedule-next li"),
    Place("new-schedule", "/new-schedule"),
    Place("schemas", "/schemas", "#rows tbody tr"),
    Place("schema", "/schemas/invoices", "#diff tbody tr"),
    Place("new-schema", "/new-schema"),
    Place("transactions", "/transactions", "#transactions tbody tr"),
    Place("transaction", "/transactions/1"),
    Place("traces", "/traces", "#traces tbody tr"),
    Place("span-search", "/traces?status=error", "#traces tbody tr"),
    Place("trace", f"/traces/{TRACE}", ".waterfall rect"),
    Place("journey", "/journey?topic=parcels&partition=0&offset=0", "#headline"),
)
