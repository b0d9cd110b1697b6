"""Deliveries, lanes and their figures as `goqueue queue` prints them."""

from collections.abc import Sequence
from typing import Any

from goqueue.cli.output import print_table

__all__ = ["print_lanes", "print_reliability", "print_settled", "print_taken", "value_text"]

Facts = dict[str, Any]
SHORT = 60


def print_taken(messages: Sequence[Facts]) -> None:
    if not messages:
        print("nothing was ready in time")
        return
    columns = ("record", "delivery", "priority", "key", "value", "receipt")
    rows = [
        (
            f"{one['topic']}/{one['partition']}/{one['offset']}",
            one["delivery_count"],
            one["priority"],
            value_text(one.get("key")),
            value_text(one["value"]),
            one["receipt_handle"],
        )
        for one in messages
    ]
    print_table("Taken", columns, rows, numbers="delivery")


def print_settled(results: Sequence[Facts], verb: str) -> None:
    fine = [one for one in results if one["success"]]
    for one in fine:
        place = f"{one['topic']}/{one['partition']}/{one['offset']}"
        more = {"dlq": "; it went to the dead letters", "requeued": f"; it comes again at {one.get('next_visible_at')}"}
        rest = more.get(one.get("action", ""), "")
        rest += f"; it is in {one['dlq_topic']}" if one.get("dlq_topic") else ""
        rest += f"; yours until {one['new_deadline']}" if one.get("new_deadline") else ""
        print(f"{verb} {place}{rest}")
    for one in results:
        if not one["success"]:
            print(f"refused: {one.get('error')}")


def print_lanes(queues: Sequence[Facts]) -> None:
    if not queues:
        print("there are no queues; a group becomes one with its first `goqueue queue take`")
        return
    rows = [
        (
            queue["group"],
            f"{queue['topic']}/{queue['partition']}",
            lane["name"],
            f"{lane['ready']:,}",
            f"{lane['in_flight']:,}",
            f"{lane['enqueued_per_second']:,.1f}",
            f"{lane['dequeued_per_second']:,.1f}",
            (lane["oldest_waiting"] or "")[:19],
        )
        for queue in queues
        for lane in queue["lanes"]
    ]
    columns = ("group", "partition", "priority", "ready", "in flight", "in/s", "out/s", "oldest")
    print_table("Lanes", columns, rows, numbers="ready,in flight,in/s,out/s", to_drop="oldest,out/s,in/s")


def print_reliability(groups: Sequence[Facts]) -> None:
    if not groups:
        print("there are no queues; a group becomes one with its first `goqueue queue take`")
        return
    columns = tuple(groups[0])
    rows = [[f"{one[name]:,}" if isinstance(one[name], int) else one[name] for name in columns] for one in groups]
    titles = tuple(name.replace("_", " ") for name in columns)
    to_drop = "deferred,expired,rejected,nacked,acked,dead lettered,delayed,workers,waiting for retry"
    print_table("Queues", titles, rows, numbers=",".join(titles[2:]), to_drop=to_drop)


def value_text(value: Any, width: int = SHORT) -> str | None:
    """One line that cannot steer a terminal."""
    if value is None:
        return None
    import json

    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    plain = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text[: width + 1])
    return plain if len(plain) <= width else plain[: width - 1] + "…"
