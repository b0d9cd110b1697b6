"""`make screenshots`: one image of every page, with the records of a small shop, into docs/images."""

import random
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from goqueue.client.sync import Consumer, Producer, Worker
from tests.behaviour.serving import Server, running_server
from tests.console.conftest import FLAGS, chromium
from tests.console.demo import Shop, fill_shop
from tests.console.demo_workbench import fill_workbench
from tests.console.places import PLACES, Place

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
WARM_UP_MS = 150_000
SIZE = {"width": 1280, "height": 860}
CLICKED = {
    "records": "#records tbody tr:nth-child(4) a",
    "dead-letter-list": "#letters tbody tr:nth-child(3) th a",
    "delay-list": "#delays tbody tr:nth-child(3) th a",
}
"""What is to be open on an image."""
TYPED = {
    "publish": {
        "key": "customer-17",
        "value": '{\n  "order": "A-1042",\n  "state": "placed",\n  "total": 18.50\n}',
        "headers": "source: web-shop",
        "delay": "30s",
        "id": "order-1042",
    }
}
"""What is to stand in a form."""
MOVING = ("overview", "topic", "queue")
"""Charts: they are taken before other things are done to the broker at once."""


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, running_server(Path(folder)) as server:
        shop = fill_shop(server)
        # What was published at once would make every other rate look small.
        server.restart()
        with busy(shop), sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            # The lanes of a queue are followed from the moment somebody looks at them.
            watching = browser.new_page()
            watching.goto(f"http://{server.http}/console/topics/orders/queue?group=fulfilment")
            watching.wait_for_timeout(WARM_UP_MS)
            moving = [place for place in PLACES if place.name in MOVING]
            photograph(browser, server, moving, "light")
            photograph(browser, server, [place for place in moving if place.name == "overview"], "dark")
            fill_workbench(server)
            photograph(browser, server, [place for place in PLACES if place.name not in MOVING], "light")
            browser.close()


def photograph(browser: Browser, server: Server, places: list[Place], scheme: str) -> None:
    context = browser.new_context(viewport=SIZE, color_scheme=scheme, device_scale_factor=1.5)
    page = context.new_page()
    for place in places:
        page.goto(f"http://{server.http}/console{place.path}")
        page.wait_for_selector(place.ready)
        page.wait_for_timeout(2500)
        if place.name in CLICKED:
            page.locator(CLICKED[place.name]).first.click()
            page.wait_for_timeout(1000)
        for field, text in TYPED.get(place.name, {}).items():
            page.locator(f"#{field}").fill(text)
        file = IMAGES / f"console-{place.name}{'-dark' if scheme == 'dark' else ''}.png"
        page.screenshot(path=file)
        # Pages have few colours: this way an image takes a third.
        Image.open(file).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(file, optimize=True)
    context.close()


@contextmanager
def busy(shop: Shop) -> Iterator[threading.Event]:
    """Producers and workers at an uneven pace, as in a shop, until it is over."""
    stop = threading.Event()
    threads = [
        threading.Thread(target=_produce, args=(shop, stop)),
        threading.Thread(target=_work, args=(shop, "orders", "fulfilment", 18, stop)),
        threading.Thread(target=_work, args=(shop, "payments", "billing", 30, stop)),
        threading.Thread(target=_work, args=(shop, "inventory.changes", "stock-sync", 14, stop)),
        threading.Thread(target=_read, args=(shop, "orders", "analytics", stop)),
        threading.Thread(target=_read, args=(shop, "orders", "analytics", stop)),
    ]
    for thread in threads:
        thread.start()
    try:
        yield stop
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _produce(shop: Shop, stop: threading.Event) -> None:
    chance = random.Random(3)
    with Producer(shop.server.native) as producer:
        pace = 40.0
        while not stop.wait(0.25):
            pace = max(12.0, min(90.0, pace + chance.uniform(-9, 9)))
            for topic, share in (("orders", 0.4), ("payments", 0.3), ("inventory.changes", 0.3)):
                shop.publish(producer, topic, round(pace * share))


def _work(shop: Shop, topic: str, group: str, most: int, stop: threading.Event) -> None:
    chance = random.Random(len(topic))
    with Worker(topic, group=group, bootstrap=shop.server.native) as worker:
        while not stop.wait(0.1):
            jobs = worker.take(limit=chance.randrange(most // 2, most), wait_ms=100)
            stop.wait(0.12)
            by_fate: dict[str, list] = {"ack": [], "nack": [], "reject": []}
            for job in jobs:
                by_fate[chance.choices(("ack", "nack", "reject"), (0.985, 0.01, 0.005))[0]].append(job)
            for fate, some in by_fate.items():
                if some and fate == "ack":
                    worker.ack(*some)
                elif some and fate == "nack":
                    worker.nack(*some, reason="timeout while booking the parcel service")
                elif some:
                    worker.reject(*some, reason="the warehouse does not know this article")


def _read(shop: Shop, topic: str, group: str, stop: threading.Event) -> None:
    with Consumer(topic, group=group, bootstrap=shop.server.native, start="latest") as consumer:
        while not stop.is_set():
            consumer.poll(wait_ms=300)
            consumer.commit()


if __name__ == "__main__":
    main()
