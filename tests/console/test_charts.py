"""Charts of the console: ranges, scales, and the value at an instant, under a load that is even but for one burst."""

import re
import threading
from collections.abc import Iterator

import httpx
import pytest

from goqueue.client.sync import Admin, Producer
from tests.behaviour.serving import Server, eventually

pytestmark = pytest.mark.browser

BURST = 6000
EVEN_S = 45
"""Seconds, of which the burst is less than a twentieth."""
PUBLISHED = "[data-chart=published]"


@pytest.fixture(scope="module", autouse=True)
def load(server: Server) -> Iterator[None]:
    """About 30 records a second, and once thousands."""
    stop = threading.Event()
    with Admin(server.native) as admin:
        admin.create_topic("orders", 2)

    def publish() -> None:
        with Producer(server.native) as producer:
            for step in iter(lambda: stop.wait(0.1), True):
                assert step is False
                producer.send_many("orders", [b"x" * 100] * 3)

    thread = threading.Thread(target=publish)
    thread.start()
    yield
    stop.set()
    thread.join()


def points(page) -> int:
    return int(page.locator(PUBLISHED).get_attribute("data-points") or 0)


def top(page) -> float:
    return float(page.locator(PUBLISHED).get_attribute("data-top") or 0)


def wait_until(page, holds, within_s: float = 60) -> None:
    eventually(lambda: holds() or page.wait_for_timeout(100), within_s, 0)


def test_a_range_shows_that_much_of_the_past_and_is_remembered(open_page) -> None:
    page = open_page("")
    wait_until(page, lambda: points(page) >= 12)
    assert page.get_by_role("button", name="10 min").get_attribute("aria-pressed") == "true"
    page.get_by_role("button", name="1 h").click()
    wait_until(page, lambda: 0 < points(page) <= 3)
    page.reload()
    page.wait_for_selector(f"{PUBLISHED}[data-points]")
    assert page.get_by_role("button", name="1 h").get_attribute("aria-pressed") == "true"
    page.get_by_role("button", name="1 min", exact=True).click()
    wait_until(page, lambda: points(page) >= 12)


def test_no_range_has_more_points_than_it_has_seconds(open_page, server: Server) -> None:
    for minutes in (1, 5, 10, 60):
        with httpx.stream("GET", f"http://{server.http}/console/live/overview?minutes={minutes}") as answer:
            first = next(line for line in answer.iter_lines() if line.startswith("data:"))
        assert 0 < len(re.findall(r"[0-9.]+", first.partition('"t":[')[2].partition("]")[0])) <= minutes * 60
    assert httpx.get(f"http://{server.http}/console/live/overview?minutes=7").status_code == 400


def test_the_mouse_shows_the_value_of_an_instant_on_a_chart(open_page) -> None:
    page = open_page("")
    wait_until(page, lambda: points(page) >= 5)
    assert page.locator(f"{PUBLISHED} .tip").is_hidden()
    box = page.locator(f"{PUBLISHED} .u-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 8, box["y"] + box["height"] / 2)
    page.wait_for_selector(f"{PUBLISHED} .tip:visible")
    assert re.fullmatch(r"\d\d:\d\d:\d\d\s*[\d.]+k?/s", page.locator(f"{PUBLISHED} .tip").inner_text())
    page.mouse.move(2, 2)
    page.wait_for_selector(f"{PUBLISHED} .tip", state="hidden")


def test_the_arrow_keys_show_the_value_of_an_instant_on_a_chart(open_page) -> None:
    page = open_page("")
    wait_until(page, lambda: points(page) >= 5)
    plot = page.locator(f"{PUBLISHED} .plot")
    plot.focus()
    page.keyboard.press("Home")
    page.wait_for_selector(f"{PUBLISHED} .tip:visible")
    assert re.fullmatch(r"Published: [\d.]+k?/s at \d\d:\d\d:\d\d", plot.get_attribute("aria-label"))
    first = page.locator(f"{PUBLISHED} .tip").inner_text()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator(f"{PUBLISHED} .tip").inner_text() != first
    page.keyboard.press("Escape")
    page.wait_for_selector(f"{PUBLISHED} .tip", state="hidden")


def test_one_burst_does_not_flatten_a_chart_and_is_named(open_page, server: Server) -> None:
    page = open_page("")
    wait_until(page, lambda: points(page) >= EVEN_S, within_s=120)
    with Producer(server.native) as producer:
        producer.send_many("orders", [b"x" * 100] * BURST)
    page.wait_for_selector(f"{PUBLISHED} [data-peak]:has-text('peak')", timeout=30_000)
    assert top(page) < 400
    page.get_by_role("button", name="Linear").click()
    assert top(page) > BURST / 4
    assert page.locator(f"{PUBLISHED} [data-peak]").inner_text() == ""
    page.get_by_role("button", name="Log").click()
    assert top(page) > BURST / 4
    page.reload()
    page.wait_for_selector(f"{PUBLISHED}[data-points]")
    assert page.get_by_role("button", name="Log").get_attribute("aria-pressed") == "true"
