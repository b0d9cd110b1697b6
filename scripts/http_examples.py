"""Writes the examples of the HTTP API: one request of each operation, sent to a real broker, and what it answered.

Times, random ids and figures that differ from run to run are replaced, so that the same broker writes the same file.
"""

import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx

from goqueue.gateways.http.document.examples import FILE
from tests.behaviour.serving import running_server

__all__ = ["PAGE", "page"]

PAGE = FILE

Ask = Callable[..., Any]
V1 = '{"type":"record","name":"Order","fields":[{"name":"id","type":"int"}]}'
V2 = V1.removesuffix("]}") + ',{"name":"total","type":"double","default":0}]}'
SETTINGS = "[tracing]\nrate = 1.0\n"
ITEMS = 2
"""So many objects of a list are shown."""
METRIC = re.compile(r"(# \w+ )?goqueue_broker_topic_partitions")


def page() -> str:
    with (
        tempfile.TemporaryDirectory() as folder,
        running_server(Path(folder) / "broker", SETTINGS) as server,
        httpx.Client(base_url=f"http://{server.http}", timeout=60, trust_env=False) as client,
    ):
        teller = Teller(client)
        tell(teller.ask)
    return json.dumps(teller.examples, indent=1, ensure_ascii=False) + "\n"


class Teller:
    """Sends requests, and keeps the first one of each operation that is to be shown."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self._constant = Constant()
        self.examples: dict[str, Any] = {}

    def ask(self, operation: str, body: Any = None, /, *, show: bool = True, **given: Any) -> Any:
        """The answer. `given` are parameters of the path, the others are those of the query."""
        method, path = operation.split(" ")
        names = re.findall(r"\{(\w+)\}", path)
        params = {name: given.pop(name) for name in names}
        url = path.format_map({name: quote(str(value), safe="") for name, value in params.items()})
        texts = {name: "true" if value is True else value for name, value in given.items()}
        url += f"?{urlencode(texts, safe=',:')}" if texts else ""
        answer = self._client.request(method, url, json=body)
        assert answer.status_code < 300, f"{operation} {body} → {answer.status_code} {answer.text}"
        is_json = "json" in answer.headers["content-type"]
        content = answer.json() if is_json else answer.text
        if show:
            assert operation not in self.examples, f"{operation} is shown twice"
            shown = _shortened(content, operation) if is_json else _lines(content)
            parts = {"url": url, "params": params, "query": given, "body": body, "status": answer.status_code}
            self.examples[operation] = self._constant.of({**parts, "answer": shown})
        return content


def tell(ask: Ask) -> None:
    """One request of each operation, in an order in which they work; the others prepare them."""
    for name in ("/health", "/healthz", "/livez", "/version", "/docs", "/openapi.json"):
        ask(f"GET {name}")
    ask("GET /readyz", verbose=True)
    _records(ask)
    _queue(ask)
    _members(ask)
    _delays(ask)
    _dead_letters(ask)
    _transactions(ask)
    _schedules(ask)
    _schemas(ask)
    _traces(ask)
    for name in (
        "/stats",
        "/metrics",
        "/priority/stats",
        "/reliability/stats",
        "/rebalance/stats",
        "/groups",
        "/topics",
    ):
        ask(f"GET {name}")
    ask("POST /groups/{group}/pause", group="billing")
    ask("POST /groups/{group}/resume", group="billing")
    ask("DELETE /groups/{group}", group="reports")
    ask("DELETE /topics/{topic}", topic="invoices")


def _records(ask: Ask) -> None:
    ask("POST /topics", {"name": "orders", "num_partitions": 2, "retention_hours": 24})
    ask("POST /topics", {"name": "invoices", "num_partitions": 1}, show=False)
    ask("GET /topics/{topic}", topic="orders")
    ask("PATCH /topics/{topic}", {"max_attempts": 5, "cleanup": "compact,delete"}, topic="orders")
    ask("GET /topics/{topic}/partitions", topic="orders")
    orders = [{"key": "alice", "value": {"id": 1}}, {"key": "bob", "value": {"id": 2}, "priority": "high"}]
    ask("POST /topics/{topic}/messages", {"messages": orders}, topic="orders")
    more = [{"partition": 0, "value": {"id": number}, "id": f"order-{number}"} for number in range(3, 20)]
    ask("POST /topics/{topic}/messages", {"messages": more}, topic="orders", show=False)
    ask("GET /topics/{topic}/messages", topic="orders", limit=2, format="json")
    ask("GET /topics/{topic}/partitions/{partition}/messages", topic="orders", partition=0, offset=1, limit=2)
    ask("POST /admin/topics/{topic}/compact", topic="orders")


def _poll(ask: Ask, limit: int) -> list[str]:
    query = {"topics": "orders", "limit": limit, "timeout": "5s", "consumer": "worker-1"}
    found = ask("GET /groups/{group}/poll", group="billing", show=limit == 2, **query)
    return [one["receipt_handle"] for one in found["messages"]]


def _queue(ask: Ask) -> None:
    first, second = _poll(ask, 2)
    ask("POST /messages/ack", {"receipt_handle": first})
    ask("POST /messages/visibility", {"receipt_handle": second, "extension_seconds": 120})
    ask("POST /messages/nack", {"receipt_handle": second, "reason": "the bank is closed", "delay": "1h"})
    rejected = _poll(ask, 3)
    ask("POST /messages/reject", {"receipt_handles": rejected, "reason": "no such customer"})
    ask("GET /groups/{group}", group="billing")
    ask("PUT /groups/{group}/policy", {"visibility_timeout_ms": 60_000, "max_attempts": 10}, group="billing")
    ask("GET /groups/{group}/policy", group="billing")


def _members(ask: Ask) -> None:
    group = {"group": "reports"}
    topics = {"topics": ["orders"], "client_id": "reader"}
    member = ask("POST /groups/{group}/join", {**topics, "session": "30s"}, **group)
    who = {"member_id": member["member_id"], "generation": member["generation"]}
    ask("POST /groups/{group}/heartbeat", who, **group)
    ask("GET /groups/{group}/assignment", member_id=who["member_id"], **group)
    ask("POST /groups/{group}/offsets", {"offsets": {"orders": {"0": 4}}, **who}, **group)
    ask("GET /groups/{group}/offsets", **group)
    second = ask("POST /groups/{group}/join/cooperative", topics, **group)
    told = ask("POST /groups/{group}/heartbeat", who, show=False, **group)
    confirmed = {"member_id": who["member_id"], "generation": told["generation"], "partitions": told["revoke"]}
    ask("POST /groups/{group}/revoke", confirmed, **group)
    other = {"member_id": second["member_id"], "generation": second["generation"]}
    ask("POST /groups/{group}/heartbeat/cooperative", other, **group)
    ask("GET /groups/{group}/cooperative", **group)
    ask("GET /groups/{group}/rebalance/stats", **group)
    ask("POST /groups/{group}/leave/cooperative", {"member_id": second["member_id"]}, **group)
    ask("POST /groups/{group}/leave", {"member_id": who["member_id"]}, **group)
    ask("POST /groups/{group}/offsets/reset", {"to": "earliest", "topics": ["orders"], "dry_run": True}, **group)


def _delays(ask: Ask) -> None:
    later = [{"value": f"reminder {number}", "delay": "1h"} for number in range(5)]
    ask("POST /topics/{topic}/messages", {"messages": later}, topic="invoices", show=False)
    ask("GET /topics/{topic}/delayed", topic="invoices", limit=2)
    one = {"topic": "invoices", "partition": 0, "offset": 0}
    ask("GET /topics/{topic}/delayed/{partition}/{offset}", **one)
    ask("PATCH /topics/{topic}/delayed/{partition}/{offset}", {"delay": "10m"}, **one)
    ask("DELETE /topics/{topic}/delayed/{partition}/{offset}", **one)
    places = [{"partition": 0, "offset": 1}, {"partition": 0, "offset": 2}]
    ask("POST /topics/{topic}/delayed/cancel", {"records": places}, topic="invoices")
    ask("GET /delay/stats")


def _dead_letters(ask: Ask) -> None:
    letters = ask("GET /dlq/{topic}", topic="orders", limit=1)["messages"]
    place = {"partition": letters[0]["partition"], "offset": letters[0]["offset"]}
    ask("GET /dlq/{topic}/{partition}/{offset}", topic="orders", **place)
    ask("GET /dlq/{topic}/stats", topic="orders")
    ask("POST /dlq/{topic}/redrive", {"select": {"offsets": [place]}}, topic="orders")
    ask("DELETE /dlq/{topic}", {"select": {"reason": "no such customer"}, "limit": 1}, topic="orders")


def _transactions(ask: Ask) -> None:
    begun = ask("POST /producers/init", {"transactional_id": "billing-1"})
    ask("POST /producers/{producer_id}/heartbeat", {"epoch": begun["epoch"]}, producer_id=begun["producer_id"])
    who = {"producer_id": begun["producer_id"], "epoch": begun["epoch"]}
    number = ask("POST /transactions/begin", who)["transaction"]
    ref = {"transaction": number, **who}
    ask("POST /transactions/publish", {**ref, "topic": "invoices", "value": {"order": 3, "total": 12}})
    ask("POST /transactions/add-partition", {**ref, "topic": "invoices", "partition": 0})
    ask("POST /transactions/add-acks", {**ref, "receipts": _poll(ask, 1)})
    ask("POST /transactions/add-offsets", {**ref, "group": "audit", "offsets": {"orders": {"0": 3}}})
    ask("GET /transactions", limit=10)
    ask("GET /transactions/{transaction}", transaction=number)
    ask("POST /transactions/commit", ref)
    number = ask("POST /transactions/begin", who, show=False)["transaction"]
    ask("POST /transactions/abort", {"transaction": number, **who})
    number = ask("POST /transactions/begin", who, show=False)["transaction"]
    ask("POST /transactions/{transaction}/abort", transaction=number)
    part = ask("POST /transactions/parts/begin", {"key": "query/7", "timeout_ms": 60_000})
    ref = {name: part[name] for name in ("transaction", "producer_id", "epoch")}
    ask("POST /transactions/parts/prepare", ref)
    ask("POST /transactions/decide", {"key": "query/7", "transactions": [part["transaction"]]})
    ask("GET /transactions/stats")


def _schedules(ask: Ask) -> None:
    daily = {"id": "daily", "topic": "orders", "cron": "0 9 * * MON-FRI", "zone": "Europe/Berlin", "value": "report"}
    ask("POST /schedules", daily)
    ask("GET /schedules")
    ask("GET /schedules/{schedule}", schedule="daily")
    ask("PATCH /schedules/{schedule}", {"paused": True}, schedule="daily")
    ask("DELETE /schedules/{schedule}", schedule="daily")


def _schemas(ask: Ask) -> None:
    subject = {"subject": "orders-value"}
    versions = "/schemas/subjects/{subject}/versions"
    schema_id = ask(f"POST {versions}", {"schema": V1}, **subject)["id"]
    ask("POST /schemas/subjects/{subject}", {"schema": V1}, **subject)
    ask("POST /schemas/compatibility/subjects/{subject}/versions", {"schema": V2}, verbose=True, **subject)
    one = {**subject, "version": "latest"}
    ask("POST /schemas/compatibility/subjects/{subject}/versions/{version}", {"schema": V2}, **one)
    ask(f"GET {versions}", **subject)
    ask(f"GET {versions}/{{version}}", **one)
    ask(f"GET {versions}/{{version}}/schema", **one)
    ask(f"GET {versions}/{{version}}/referencedby", **one)
    for path in ("/schemas/ids/{id}", "/schemas/schemas/ids/{id}", "/schemas/schemas/ids/{id}/schema"):
        ask(f"GET {path}", id=schema_id)
    for path in ("/schemas/schemas/ids/{id}/subjects", "/schemas/schemas/ids/{id}/versions"):
        ask(f"GET {path}", id=schema_id)
    ask("GET /schemas/subjects", subjectPrefix="orders")
    for path in ("", "/", "/schemas", "/schemas/types", "/contexts", "/stats"):
        ask(f"GET /schemas{path}")
    for path, given in (("", {}), ("/{subject}", subject)):
        ask(f"PUT /schemas/config{path}", {"compatibility": "FULL"}, **given)
        ask(f"GET /schemas/config{path}", **given)
        ask(f"PUT /schemas/mode{path}", {"mode": "READONLY"}, **given)
        ask(f"GET /schemas/mode{path}", **given)
        ask(f"DELETE /schemas/mode{path}", **given)
        ask(f"DELETE /schemas/config{path}", **given)
    ask(f"DELETE {versions}/{{version}}", **one)
    ask("POST /schemas/subjects/{subject}/versions", {"schema": V1}, show=False, **subject)
    ask("DELETE /schemas/subjects/{subject}", **subject)


def _traces(ask: Ask) -> None:
    trace = ask("GET /traces", limit=1)["traces"][0]["trace_id"]
    ask("GET /traces/{trace_id}", trace_id=trace)
    ask("GET /traces/search", topic="orders", operation="ack", limit=1)
    ask("GET /traces/journey", topic="orders", partition=0, offset=4)
    ask("GET /traces/stats")


# What is shown of an answer.


def _shortened(content: Any, operation: str) -> Any:
    if operation == "GET /openapi.json":
        return {"openapi": content["openapi"], "info": content["info"]}
    return _few(content)


def _lines(content: str) -> str:
    """Of a page the beginning, of metrics one."""
    lines = content.splitlines()
    return "\n".join(lines[:2] if content.startswith("<") else filter(METRIC.match, lines))


def _few(content: Any) -> Any:
    match content:
        case dict():
            return {name: _few(one) for name, one in content.items()}
        case list():
            return [_few(one) for one in content if not isinstance(one, dict)] or [_few(one) for one in content[:ITEMS]]
        case _:
            return content


FIGURES = {
    "age_ms": 250,
    "bytes": 1204,
    "dequeued_per_second": 0.4,
    "disk_used_share": 0.31,
    "duration_ns": 1_250_000,
    "enqueued_per_second": 0.8,
    "journal_bytes": 33_554_432,
    "last_duration_ms": 0.4,
    "p50_ns": 1_250_000,
    "p99_ns": 2_500_000,
    "python": "3.11.9",
    "codec": "compiled",
}
"""What stands for those that are others in each run."""


class Constant:
    """Replaces what is another in each run: times, random ids, figures."""

    TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
    RANDOM = re.compile(r"(?<![0-9a-f])(?=[0-9]*[a-f])[0-9a-f]{12,40}(?![0-9a-f])")
    RECEIPT = re.compile(r"/\d+/[A-Za-z0-9_-]{16}$")
    ADDRESS = re.compile(r"^127\.0\.0\.1:\d+$")
    CURSOR = re.compile(r"^\d{19}(\.\d+\.\d+)$")

    def __init__(self) -> None:
        self._random: dict[str, str] = {}

    def of(self, content: Any) -> Any:
        match content:
            case dict():
                return {name: self._figure(name, one) for name, one in content.items()}
            case list():
                return [self.of(one) for one in content]
            case str():
                text = self.ADDRESS.sub("127.0.0.1:50123", content)
                text = self.TIME.sub("2027-01-31T12:00:00.000000000Z", text)
                text = self.CURSOR.sub(r"1801396800000000000\1", text)
                return self.RECEIPT.sub("/1795064384870176/6ZIosdmqASHICn6x", self.RANDOM.sub(self._known, text))
            case _:
                return content

    def _figure(self, name: str, content: Any) -> Any:
        return FIGURES[name] if name in FIGURES and content is not None else self.of(content)

    def _known(self, found: re.Match[str]) -> str:
        """The same digits for the same id, wherever it stands."""
        digits = "".join(f"{(len(self._random) + 1) * 2654435761 * step % 2**32:08x}" for step in range(1, 6))
        return self._random.setdefault(found[0], digits[: len(found[0])])
