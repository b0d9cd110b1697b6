"""What does the broker say? Its figures over HTTP, and the life of one order, as its traces tell it."""

import json
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from examples.shop.day import Broker, Step
from examples.shop.opening import Address
from examples.shop.orders import ORDERS, Order
from examples.shop.paying import GROUP

__all__ = ["figures_of", "get", "life_of"]

WITHIN_S = 30.0
WORDS = {
    "publish": "written to the log",
    "consume": "taken by a till",
    "ack": "paid",
    "nack": "failed",
    "reject": "given up",
    "dlq": "made a dead letter",
    "redrive": "mended, and sent back",
}


def get(shop: Address, path: str, **query: object) -> Any:
    with urlopen(f"http://{shop.http}{path}?{urlencode(query)}", timeout=WITHIN_S) as answer:
        return json.load(answer)


def figures_of(shop: Address) -> Broker:
    transactions = get(shop, "/transactions/stats")
    delays = get(shop, "/delay/stats")
    (queue,) = [one for one in get(shop, "/reliability/stats")["groups"] if one["group"] == GROUP]
    return Broker(
        transactions["committed"],
        transactions["aborted"],
        {one["topic"]: one["aborted_records"] for one in transactions["topics"] if one["aborted_records"]},
        delays["delivered"],
        delays["cancelled"],
        queue["nacked"],
        queue["expired"],
    )


def life_of(shop: Address, order: Order) -> list[Step]:
    """From its first moment on, as the tills saw it; a copy that was sent back belongs to the same trace."""
    journey = get(shop, "/traces/journey", topic=ORDERS, id=order.id)
    spans = [span for span in get(shop, f"/traces/{journey['trace_id']}")["spans"] if _is_told(span)]
    spans.sort(key=lambda span: str(span["start"]))
    if not spans:
        return []
    began = _seconds(spans[0]["start"])
    return [_step(span, began) for span in spans]


def _is_told(span: dict[str, Any]) -> bool:
    return span.get("group", GROUP) == GROUP and span["operation"] in WORDS


def _step(span: dict[str, Any], began: float) -> Step:
    what = WORDS[span["operation"]]
    if span["operation"] == "publish":
        what = f"{what} of {span['topic']}"
    by = str(span.get("member", "")).rpartition("-")[0]
    return Step(round(_seconds(span["start"]) - began, 3), what, by, span.get("error", ""))


def _seconds(moment: str) -> float:
    # Nanoseconds are too fine for the type.
    return datetime.fromisoformat(moment[:26] + "+00:00").timestamp()
