"""What moves: charts under load, pages that find their way back, and streams that end with the broker."""

import contextlib
import threading

import httpx
import pytest

from goqueue.client.sync import Admin, Producer
from tests.behaviour.serving import Server, eventually

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", autouse=True)
def load(server: Server):
    """Somebody publishes all the time."""
    stop = threading.Event()
    with Admin(server.native) as admin:
        admin.create_topic("orders", 2)

    def publish() -> None:
        with contextlib.suppress(Exception), Producer(server.native) as producer:
            while not stop.wait(0.05):
                producer.send("orders", b"x" * 100)

    def end() -> None:
        stop.set()
        thread.join()

    thread = threading.Thread(target=publish)
    thread.start()
    yield end
    end()


def points(page, chart: str) -> int:
    return int(page.locator(f"[data-chart={chart}]").get_attribute("data-points") or 0)


def test_a_chart_moves_under_load(open_page) -> None:
    page = open_page("")
    page.wait_for_selector("[data-chart=published][data-points]")
    seen = set()

    def has_moved() -> bool:
        seen.add(page.evaluate("document.querySelector('[data-chart=published] canvas').toDataURL()"))
        page.wait_for_timeout(200)
        return len(seen) >= 3

    eventually(has_moved, within_s=60)
    shown = page.locator("[data-chart=published] [data-now]").inner_text()
    assert float(shown) > 0
    assert page.locator("[data-live-state]").inner_text() == "Live"


def test_a_chart_is_full_when_a_page_is_opened(open_page) -> None:
    first = open_page("")
    # More than is asked for below: what is sent first may have been put together a moment ago.
    eventually(lambda: first.wait_for_timeout(200) or points(first, "published") >= 8, within_s=60)
    second = open_page("")
    second.wait_for_selector("[data-chart=published][data-points]")
    assert points(second, "published") >= 5


def test_figures_of_a_topic_follow(open_page) -> None:
    page = open_page("/topics/orders")
    before = page.locator("#topic-facts dd").first.inner_text()
    eventually(
        lambda: page.wait_for_timeout(200) or page.locator("#topic-facts dd").first.inner_text() != before, within_s=60
    )


def test_the_keyboard_searches_and_goes_to_pages(open_page) -> None:
    page = open_page("/topics")
    page.locator("h1").wait_for()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("orde")
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/topics/orders")
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.wait_for_url("**/console/settings")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"


def test_the_theme_can_be_switched_and_is_remembered(open_page) -> None:
    page = open_page("/topics", scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Switch between light and dark").click()
    dark = page.evaluate(ground)
    assert dark != light
    page.reload()
    assert page.evaluate(ground) == dark


def test_the_filter_of_a_list_narrows_it_while_typing(open_page) -> None:
    page = open_page("/topics")
    page.locator("#q").type("nothing-is-called-this")
    page.wait_for_selector("text=No topic matches")
    page.locator("#q").fill("ord")
    page.wait_for_selector("#rows a:has-text('orders')")
    assert page.url.endswith("?q=ord")


def test_the_filter_of_a_list_keeps_the_order_that_was_chosen(open_page) -> None:
    page = open_page("/topics")
    page.get_by_role("link", name="Records").click()
    page.wait_for_selector("th[aria-sort=descending]:has-text('Records')")
    page.locator("#q").fill("ord")
    page.wait_for_url("**/console/topics?q=ord&sort=-records")
    assert page.locator("th[aria-sort=descending]").inner_text() == "Records"


def test_only_so_many_pages_are_fed_and_each_ends_when_the_broker_stops(server: Server, load) -> None:
    """The last test of the file: the broker is stopped."""
    load()
    url = f"http://{server.http}/console/live/overview"
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(httpx.Client(limits=httpx.Limits(max_connections=200), timeout=30))
        answers = [stack.enter_context(client.stream("GET", url)) for _ in range(70)]
        statuses = [answer.status_code for answer in answers]
        assert statuses.count(200) == 64
        assert statuses.count(503) == 6
        assert answers[0].headers["content-type"].startswith("text/event-stream")
        took = server.stop()
        assert took < 10
