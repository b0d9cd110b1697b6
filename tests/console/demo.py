"""A small shop, for pages to have something to show: orders, payments and mail, and workers that fall behind."""

import json
import random
from collections.abc import Iterator

from goqueue.client.sync import Admin, Producer, Worker
from goqueue.model.topic import TopicConfig
from tests.behaviour.serving import Server
from tests.console.demo_workbench import fill_workbench

__all__ = ["Shop", "fill", "fill_shop"]

CITIES = ("Graz", "Porto", "Lyon", "Ghent", "Turku", "Bergen", "Girona", "Siena")
STATES = ("placed", "paid", "packed", "sent")


def order(number: int, chance: random.Random) -> dict[str, object]:
    return {
        "order": f"A-{10_000 + number}",
        "state": chance.choice(STATES),
        "customer": {"id": number % 400, "city": chance.choice(CITIES)},
        "total": round(chance.uniform(4, 240), 2),
        "items": [
            {"sku": f"SKU-{chance.randrange(1000, 9999)}", "quantity": chance.randrange(1, 5)}
            for _ in range(chance.randrange(1, 4))
        ],
    }


class Shop:
    """Publishes and works while somebody looks on."""

    def __init__(self, server: Server, seed: int = 7) -> None:
        self.server = server
        self._chance = random.Random(seed)
        self._number = 0

    def orders(self, count: int) -> Iterator[tuple[bytes, bytes]]:
        for _ in range(count):
            self._number += 1
            made = order(self._number, self._chance)
            yield f"customer-{made['customer']['id']}".encode(), json.dumps(made).encode()

    def publish(self, producer: Producer, topic: str, count: int) -> None:
        for key, value in self.orders(count):
            producer.send(
                topic,
                value,
                key=key,
                headers=(("content-type", b"application/json"), ("source", b"web-shop")),
                priority=self._chance.choices(range(5), (1, 3, 12, 4, 2))[0],
            )


def fill(server: Server) -> Shop:
    """Something for every page."""
    shop = fill_shop(server)
    fill_workbench(server)
    return shop


def fill_shop(server: Server) -> Shop:
    """Topics, records, groups that have worked, some of what went wrong, some of what is still to come."""
    shop = Shop(server)
    with Admin(server.native) as admin, Producer(server.native) as producer:
        admin.create_topic("orders", 4, TopicConfig(max_attempts=2, retry_backoff_ms=50))
        admin.create_topic("payments", 3)
        admin.create_topic("mail.outgoing", 2)
        admin.create_topic("inventory.changes", 6)
        admin.create_topic("audit", 1)
        for topic, count in (("orders", 1800), ("payments", 900), ("mail.outgoing", 400), ("inventory.changes", 2500)):
            shop.publish(producer, topic, count)
        for number in range(24):
            producer.send("mail.outgoing", b"your parcel arrives today", delay_ms=3_600_000 + number * 60_000)
    work(server, "fulfilment", "orders", 600)
    work(server, "billing", "payments", 850)
    work(server, "mailer", "mail.outgoing", 380)
    with Worker("orders", group="fulfilment", bootstrap=server.native) as worker:
        jobs = worker.take(limit=12, wait_ms=5000)
        worker.reject(*jobs[:5], reason="the warehouse does not know this article")
        worker.nack(*jobs[5:8], reason="timeout while booking the parcel service")
    return shop


def work(server: Server, group: str, topic: str, count: int) -> None:
    done = 0
    with Worker(topic, group=group, bootstrap=server.native) as worker:
        while done < count:
            jobs = worker.take(limit=min(100, count - done), wait_ms=5000)
            worker.ack(*jobs)
            done += len(jobs)
