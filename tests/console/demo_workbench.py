"""More of the small shop: what went wrong and why, what is planned, what values look like, what is not committed."""

import json

import httpx

from goqueue.client.sync import Admin, Producer, Worker
from goqueue.model.topic import TopicConfig
from tests.behaviour.serving import Server

__all__ = ["TRACE", "fill_workbench"]

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
"""Of a parcel that was tried three times, died, and was sent back."""
SENDER = "00f067aa0ba902b7"

REASONS = (
    ("the address has no postal code", 9),
    ("carrier says: label rejected (E-4017)", 5),
    ("no rate for this country", 3),
    ("weight is negative", 1),
)

INVOICES = (
    [{"name": "number", "type": "string"}, {"name": "total", "type": "double"}],
    [
        {"name": "number", "type": "string"},
        {"name": "total", "type": "double"},
        {"name": "currency", "type": "string", "default": "EUR"},
    ],
    [
        {"name": "number", "type": "string"},
        {"name": "total", "type": "double"},
        {"name": "currency", "type": {"type": "enum", "name": "Currency", "symbols": ["EUR", "CHF"]}, "default": "EUR"},
        {"name": "due_days", "type": ["null", "int"], "default": None},
    ],
)


def fill_workbench(server: Server) -> None:
    with Admin(server.native) as admin, Producer(server.native) as producer:
        admin.create_topic("parcels", 1, TopicConfig(max_attempts=3, retry_backoff_ms=60, trace_rate=1.0))
        admin.create_topic("returns", 1, TopicConfig(max_attempts=3, retry_backoff_ms=20, trace_rate=1.0))
        admin.create_topic("reminders", 1)
        admin.create_topic("invoices", 2)
        admin.create_topic("invoices.sent", 1)
        dead_letters(server, producer)
        for number in range(40):
            text = json.dumps({"to": f"customer-{number}", "text": "your basket waits for you"}).encode()
            producer.send("reminders", text, key=b"basket-%d" % number, delay_ms=1_800_000 + number * 95_000)
        journey(server, producer)
    schedules(server)
    schemas(server)
    transactions(server)


def dead_letters(server: Server, producer: Producer) -> None:
    reasons = [reason for reason, count in REASONS for _ in range(count)]
    for number in range(len(reasons)):
        parcel = {"parcel": f"P-{7000 + number}", "to": {"city": "Lyon", "zip": None}, "grams": 400 + 35 * number}
        headers = (("content-type", b"application/json"), ("source", b"returns-desk"))
        producer.send("returns", json.dumps(parcel).encode(), key=b"parcel-%d" % number, headers=headers)
    with Worker("returns", group="label-printer", bootstrap=server.native) as worker:
        worker.nack(*worker.take(limit=20, wait_ms=5000), reason="timeout while talking to the carrier", delay_ms=0)
        jobs = worker.take(limit=20, wait_ms=5000)
        for job, reason in zip(jobs, reasons, strict=True):
            worker.reject(job, reason=reason)


def journey(server: Server, producer: Producer) -> None:
    """Three attempts, a dead letter, sent back, done: all in the trace of its sender."""
    headers = (("traceparent", f"00-{TRACE}-{SENDER}-01".encode()),)
    producer.send("parcels", b'{"parcel": "P-1"}', key=b"parcel-1", headers=headers)
    with Worker("parcels", group="courier", bootstrap=server.native) as worker:
        for _ in range(3):
            worker.nack(*worker.take(limit=1, wait_ms=10_000), reason="nobody at home")
        answer = httpx.post(
            f"http://{server.http}/dlq/parcels/redrive", json={"select": {"all": True}, "edit": {"key": "parcel-1"}}
        )
        assert answer.json()["redriven"] == 1, answer.text
        worker.ack(*worker.take(limit=1, wait_ms=10_000))


def schedules(server: Server) -> None:
    made = (
        {"id": "daily-report", "cron": "0 9 * * MON-FRI", "zone": "Europe/Vienna", "description": "What was sold"},
        {"id": "stock-check", "every": "1s", "description": "Asks every shelf what it has"},
        {"id": "month-end", "cron": "30 23 L * *", "description": "Closes the books"},
        {"id": "newsletter", "cron": "0 7 * * MON", "paused": True, "description": "Until it is written"},
    )
    for one in made:
        post(server, "/schedules", {"topic": "audit", "value": {"job": one["id"]}, **one})


def schemas(server: Server) -> None:
    for fields in INVOICES:
        schema = json.dumps({"type": "record", "name": "Invoice", "namespace": "shop", "fields": fields})
        answer = httpx.post(f"http://{server.http}/schemas/subjects/invoices/versions", json={"schema": schema})
        if answer.status_code == 409:
            httpx.put(f"http://{server.http}/schemas/config/invoices", json={"compatibility": "NONE"})
            answer = httpx.post(f"http://{server.http}/schemas/subjects/invoices/versions", json={"schema": schema})
        assert answer.is_success, answer.text
    address = json.dumps(
        {"type": "object", "properties": {"street": {"type": "string"}, "zip": {"type": "string"}}, "required": ["zip"]}
    )
    post(server, "/schemas/subjects/address/versions", {"schema": address, "schemaType": "JSON"})
    proto = 'syntax = "proto3";\npackage shop;\nmessage Parcel {\n  string id = 1;\n  int32 grams = 2;\n}\n'
    post(server, "/schemas/subjects/parcel-events/versions", {"schema": proto, "schemaType": "PROTOBUF"})


def transactions(server: Server) -> None:
    """The first one has number 1, and stays open for a while; a part of another one is prepared, one is done."""
    body = {"transactional_id": "ledger-writer", "transaction_timeout_ms": 900_000}
    producer = post(server, "/producers/init", body)
    begun = post(server, "/transactions/begin", producer)
    records = [{"topic": "audit", "value": f"booking {number}"} for number in range(12)]
    post(server, "/transactions/publish", {**begun_in(begun), "messages": records})
    part = begun_in(post(server, "/transactions/parts/begin", {"key": "nightly-export/7", "timeout_ms": 900_000}))
    post(server, "/transactions/publish", {**part, "messages": [{"topic": "invoices.sent", "value": "A-10017"}]})
    post(server, "/transactions/parts/prepare", part)
    done = begun_in(
        post(server, "/transactions/begin", post(server, "/producers/init", {"transactional_id": "refunds"}))
    )
    post(server, "/transactions/publish", {**done, "messages": [{"topic": "invoices.sent", "value": "A-10018"}]})
    post(server, "/transactions/commit", done)


def begun_in(begun: dict) -> dict:
    return {"transaction": begun["transaction"], "producer_id": begun["producer_id"], "epoch": begun["epoch"]}


def post(server: Server, path: str, body: dict[str, object]) -> dict:
    answer = httpx.post(f"http://{server.http}{path}", json=body)
    assert answer.is_success, answer.text
    return answer.json()
