"""Transactions as `goqueue txn` prints them."""

from typing import Any

import msgspec

from goqueue.cli.output import print_table
from goqueue.cli.times import instant_text
from goqueue.model.transaction_views import TransactionPage, TransactionStats, TransactionView

__all__ = ["page_facts", "print_page", "print_stats", "print_view", "stats_facts", "summary", "view_facts"]

Facts = dict[str, Any]


def view_facts(view: TransactionView) -> Facts:
    facts = msgspec.structs.asdict(view)
    for name in ("began", "deadline", "ended"):
        at = facts.pop(f"{name}_ns")
        facts[name] = None if at is None else instant_text(at)
    parts = {name: [msgspec.structs.asdict(part) for part in facts.pop(name)] for name in PARTS}
    return facts | {"records": view.records, "pledged": view.pledged} | parts


PARTS = ("partitions", "pledges", "offsets")


def page_facts(page: TransactionPage) -> Facts:
    return {
        "live": page.live,
        "transactions": [view_facts(view) for view in page.transactions],
        "after": page.after,
    }


def stats_facts(stats: TransactionStats) -> Facts:
    facts = msgspec.structs.asdict(stats)
    return facts | {"topics": [msgspec.structs.asdict(topic) for topic in stats.topics]}


def summary(view: TransactionView) -> str:
    """In a few words, for a question."""
    whose = f" of {view.transactional_id}" if view.transactional_id else f", a part of {view.key}" if view.key else ""
    return (
        f"transaction {view.number}{whose}, {age_text(view.age_ms or 0)} old, "
        f"with {view.records:,} records in {len(view.partitions):,} partitions"
    )


def age_text(milliseconds: int) -> str:
    seconds = milliseconds / 1000
    if seconds < 100:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest:02d}s"


def print_page(page: TransactionPage, *, hanging: bool) -> None:
    if not page.transactions:
        print("no transaction hangs" if hanging and page.live else "no transaction is open")
        return
    columns = ("number", "id or key", "state", "age", "timeout", "partitions", "records", "pledged", "hangs")
    rows = [
        (
            view.number,
            view.transactional_id or view.key,
            view.state,
            age_text(view.age_ms or 0),
            age_text(view.timeout_ms or 0),
            len(view.partitions),
            view.records,
            view.pledged,
            "HANGS" if view.hanging else "",
        )
        for view in page.transactions
    ]
    numbers = "number,age,timeout,partitions,records,pledged"
    to_drop = "pledged,partitions,timeout,records"
    print_table(f"Transactions, {page.live:,} in all", columns, rows, numbers=numbers, to_drop=to_drop)
    if page.after is not None:
        print(f"there are more: --after {page.after}")


def print_view(view: TransactionView) -> None:
    facts = {name: value for name, value in view_facts(view).items() if name not in PARTS}
    if not view.is_live:
        wanted = ("number", "state", "producer_id", "epoch", "ended", "why")
        facts = {name: facts[name] for name in wanted}
    for name, value in facts.items():
        print(f"{name:16}  {'none' if value is None or value == '' else value}")
    if view.hanging:
        print("it HANGS: more than half of its time is over; `goqueue txn abort` ends it")
    _print_parts("Partitions", view.partitions, "partition,records,first_offset")
    _print_parts("Acknowledgements", view.pledges, "partition,records")
    _print_parts("Offsets of groups", view.offsets, "partition,offset")


def _print_parts(title: str, parts: tuple[msgspec.Struct, ...], numbers: str) -> None:
    if parts:
        rows = [msgspec.structs.astuple(part) for part in parts]
        print_table(title, parts[0].__struct_fields__, rows, numbers=numbers)


def print_stats(stats: TransactionStats) -> None:
    for name, value in stats_facts(stats).items():
        if name == "oldest_age_ms":
            print(f"{'oldest_age':10}  {'none' if value is None else age_text(value)}")
        elif name != "topics":
            print(f"{name:10}  {'none' if value is None else value}")
    if stats.topics:
        rows = [msgspec.structs.astuple(topic) for topic in stats.topics]
        numbers = "behind,most_behind,partitions_behind,aborted_records"
        print_table("Topics", stats.topics[0].__struct_fields__, rows, numbers=numbers)
