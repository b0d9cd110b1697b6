"""What holds for every page: it opens without complaints, asks no other host, and can be read and used by all."""

import re
from urllib.parse import urlsplit

import httpx
import pytest

from goqueue.gateways.console.pages import PARTS
from tests.behaviour.serving import Server
from tests.console.axe import problems_of, small_targets
from tests.console.demo import fill
from tests.console.places import PLACES, Place

pytestmark = pytest.mark.browser

each_place = pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)


@pytest.fixture(scope="module", autouse=True)
def shop(server: Server):
    return fill(server)


@each_place
@pytest.mark.parametrize("width", [1280, 390], ids=["desktop", "phone"])
def test_a_page_opens_without_complaints_and_axe_finds_nothing(open_page, place: Place, width: int) -> None:
    """In both themes; and everything that is pressed is large enough for a finger."""
    page = open_page(place.path, scheme="light", width=width)
    page.wait_for_selector(place.ready)
    assert problems_of(page) == []
    assert small_targets(page) == []
    page.emulate_media(color_scheme="dark")
    assert problems_of(page) == []


def test_every_page_that_can_be_opened_is_tested_here(server: Server) -> None:
    shown = [urlsplit(f"/console{place.path}").path for place in PLACES]
    for page in (page for part in PARTS for page in part.pages if page.method == "GET"):
        pattern = re.compile("/console" + re.sub("{[a-z]+}", "[^/]+", page.path.rstrip("/")))
        assert any(map(pattern.fullmatch, shown)), f"{page.path} is not in places.py"


@each_place
def test_a_page_answers_with_a_slash_at_its_end_as_well(server: Server, place: Place) -> None:
    path, mark, query = f"/console{place.path}".partition("?")
    with httpx.Client(base_url=f"http://{server.http}") as http:
        plain, slashed = http.get(path + mark + query), http.get(path + "/" + mark + query)
    assert (plain.status_code, slashed.status_code) == (200, 200)
    title = re.compile("<title>.*</title>")
    assert title.search(slashed.text)[0] == title.search(plain.text)[0]
    here = re.compile('<a href="([^"]*)"[^>]* aria-current="page"')
    assert here.findall(slashed.text) == here.findall(plain.text)


def test_the_way_home_has_a_name_on_a_phone(open_page) -> None:
    page = open_page("/topics", width=390)
    page.get_by_role("link", name="GoQueue, overview").click()
    page.wait_for_selector("h1:has-text('Overview')")


@each_place
def test_a_phone_shows_a_page_without_scrolling_sideways(open_page, place: Place) -> None:
    page = open_page(place.path, width=360, height=740)
    page.wait_for_selector(place.ready)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@each_place
def test_a_page_allows_no_inline_script_and_says_so(server: Server, place: Place) -> None:
    answer = httpx.get(f"http://{server.http}/console{place.path}")
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert " style=" not in answer.text and "<style" not in answer.text and " onclick" not in answer.text


@pytest.mark.parametrize(
    ("path", "cell"),
    [
        ("/topics/orders/records", "td.time"),
        ("/topics/orders/records", "td.grow"),
        ("/dlq/returns.dlq", "td.time"),
        ("/dlq/returns.dlq", "td.value-of"),
    ],
)
def test_a_phone_shows_when_a_record_was_published_and_what_it_says(open_page, path: str, cell: str) -> None:
    page = open_page(path, width=390)
    shown = page.locator(f"tbody tr:first-child {cell}")
    shown.scroll_into_view_if_needed()
    box = shown.bounding_box()
    assert shown.is_visible() and shown.inner_text().strip()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    assert box["width"] > 120


def test_a_record_keeps_its_time_on_the_list_while_another_one_is_open(open_page) -> None:
    page = open_page("/topics/orders/records")
    page.locator("#records tbody a").first.click()
    page.wait_for_selector("#record .value")
    assert page.locator("#records tbody td.time").first.is_visible()


def test_axe_would_find_something(open_page) -> None:
    page = open_page("/topics")
    page.evaluate("document.querySelector('#q').labels[0].remove()")
    page.evaluate("document.querySelector('main').append(document.createElement('img'))")
    found = problems_of(page)
    assert any("image-alt" in one for one in found)


def test_a_target_too_small_for_a_finger_would_be_found(open_page) -> None:
    page = open_page("/topics")
    assert small_targets(page) == []
    page.evaluate("Object.assign(document.querySelector('#rows a').style, {display: 'inline', lineHeight: '12px'})")
    assert len(small_targets(page)) == 1
