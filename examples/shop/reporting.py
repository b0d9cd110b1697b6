"""What is in the report? A page that needs nothing else, and beside it, as JSON, exactly the numbers that it shows."""

from pathlib import Path

from examples.shop.day import Day, checks_of
from examples.shop.orders import PRIORITIES
from goqueue.spark.plots import bars, columns
from goqueue.spark.report import Report

__all__ = ["NAME", "write_report"]

NAME = "shop"
PAGES = {
    "triage": "Why orders died: triage of the dead letters",
    "audit_payments": "Audit of payments and invoices",
    "audit_orders": "Audit of orders",
    "quality": "Quality of orders",
    "traces": "Traces: where records waited",
}
RUSH_S = 15
"""Seconds that are drawn; what was mended is paid much later."""


def write_report(day: Day, folder: Path) -> Path:
    page = Report("A day at the shop", _lead(day))
    _summary(page, day)
    _checks(page, day)
    _ends(page, day)
    _waits(page, day)
    _rush(page, day)
    _door(page, day)
    _sale(page, day)
    _crashes(page, day)
    _failures(page, day)
    _life(page, day)
    _stream(page, day)
    _spark(page, day)
    return page.write(folder, NAME)


def _lead(day: Day) -> str:
    return (
        "Orders with priorities, delays and a schema; tills that are killed in the middle of their work; retries, dead "
        "letters and their redrive; a stream beside the queue; one transaction for payment, invoice and order. "
        + ("Spark has checked the log." if day.spark else f"Spark was left out: {day.without_spark}")
    )


def _summary(page: Report, day: Day) -> None:
    page.tiles(
        {
            "Orders placed": day.placed,
            "Paid": len(day.books.paid),
            "Turnover": f"€{round(day.books.cents / 100):,}",
            "Tills killed": len(day.killed),
            "Charged twice": len(day.books.payments) - len(day.books.paid),
            "Mended, sent back": day.redriven.mended,
        }
    )


def _checks(page: Report, day: Day) -> None:
    rows = [(one.what, one.expected, one.found, one.holds) for one in checks_of(day)]
    page.table("What must hold", ("counted from the log, as it is now", "expected", "found", "holds"), rows)


def _ends(page: Report, day: Day) -> None:
    ends = {
        "paid": len(day.books.paid),
        "cancelled before the sale began": len(day.cancelled),
        "held for a person, as a dead letter": len(day.held),
    }
    page.table("Where every order ended", ("end", "orders"), list(ends.items()), beside=True)
    page.plot("Orders", bars(list(ends), list(ends.values()), label="orders"))


def _waits(page: Report, day: Day) -> None:
    waits = day.books.waits_s()
    rows = [(name, PRIORITIES[name], count, wait) for name, (count, wait) in waits.items()]
    head = ("shipping", "priority", "orders", "median wait, s")
    page.table("Express first", head, rows, beside=True)
    page.plot("From order to till", bars(list(waits), [wait for _, wait in waits.values()], label="seconds, median"))
    page.note("All were placed before the first till opened. Orders that were announced for later are not among these.")


def _rush(page: Report, day: Day) -> None:
    rows = [row for row in day.books.by_second() if row[0] < RUSH_S]
    head = ("second", *PRIORITIES)
    page.table("The rush", head, [(second, *counts.values()) for second, counts in rows], beside=True)
    series = {name: [counts[name] for _, counts in rows] for name in PRIORITIES}
    names = [second for second, _ in rows]
    page.plot("Orders paid", columns(names, series, x_label="seconds since the first order", y_label="orders"))
    page.note("What the killed tills had in hand comes back when its lease is over; last come those of the sale.")


def _door(page: Report, day: Day) -> None:
    page.facts(
        "At the door",
        {
            "wrong orders, refused by the serializer": day.turned_away.by_client,
            "wrong orders without a serializer, refused by the broker": day.turned_away.by_broker,
            "double clicks, written once": day.double_clicks,
        },
    )


def _sale(page: Report, day: Day) -> None:
    after = day.books.after_sale_began_ms()
    page.facts(
        "The sale",
        {
            "orders announced for it": day.announced,
            "cancelled before it began": day.broker.cancelled,
            "delivered when it began": day.broker.delivered_later,
            "first at a till, ms after it began": min(after, default=None),
            "last at a till, ms after it began": max(after, default=None),
        },
    )


def _crashes(page: Report, day: Day) -> None:
    rows = [(one.till, one.paid, one.in_hand) for one in day.killed]
    page.table("Tills that were killed (kill -9), one step before a commit", ("till", "paid before", "in hand"), rows)
    hidden = day.broker.aborted_records
    told = ", ".join(f"{count:,} {topic}" for topic, count in sorted(hidden.items())) or "nothing"
    page.facts(
        "What they left behind",
        {
            "written and never seen by anybody": told,
            "leases that ran out, and went to others": day.broker.ran_out,
            "transactions committed": day.broker.committed,
            "transactions aborted": day.broker.aborted,
        },
    )


def _failures(page: Report, day: Day) -> None:
    page.facts(
        "Failures",
        {
            "attempts that failed, and were made again or given up": day.broker.nacked,
            **{f"dead letters: {cause}": count for cause, count in sorted(day.dead.items())},
            "mended, and sent back": day.redriven.mended,
            "sent back as they were": day.redriven.unchanged,
            "left for a person": day.redriven.left,
        },
    )
    if "triage" in day.spark:
        page.table("Why they died, by Spark", ("reason", "letters"), day.spark["triage"]["clusters"])


def _life(page: Report, day: Day) -> None:
    rows = [(one.after_s, one.what, one.by, one.note) for one in day.life]
    page.table(f"The life of order {day.unlucky}", ("after s", "what", "by", "note"), rows)


def _stream(page: Report, day: Day) -> None:
    read = day.read
    members = {f"records read by member {number}": count for number, count in enumerate(read.by_member, 1)}
    page.facts("Read as a stream, beside the queue", {**members, "different orders": read.orders})
    euros = {category: round(cents / 100) for category, cents in sorted(read.cents.items(), key=lambda one: -one[1])}
    page.table("Ordered, by category", ("category", "€"), list(euros.items()), beside=True)
    page.plot("Ordered", bars(list(euros), list(euros.values()), label="€"))


def _spark(page: Report, day: Day) -> None:
    findings = [
        (topic, *finding)
        for topic, question in (("payments", "audit_payments"), ("orders", "audit_orders"))
        for finding in day.spark.get(question, {}).get("findings", ())
    ]
    if findings:
        page.table("Audit, by Spark", ("topic", "check", "verdict", "what is found"), findings)
    if "quality" in day.spark:
        found = day.spark["quality"]
        shown = {"records checked": found["records"], "that break the schema": found["violating"]}
        page.facts("Quality of orders, by Spark", {**shown, "customers": found["customers"]})
    if "traces" in day.spark:
        counts = day.spark["traces"]["operations"]
        page.table("What the broker noted of orders, by Spark", ("span", "count"), list(counts.items()), beside=True)
        page.plot("Spans", bars(list(counts), list(counts.values()), label="spans"))
    pages = {PAGES[question]: answer["page"] for question, answer in day.spark.items() if question in PAGES}
    if pages:
        page.links("Reports of the pipelines", pages)
