"""What holds for every page: it opens without complaints, asks nobody else, and everybody can read it."""

import httpx
import pytest

from tests.behaviour.serving import Server
from tests.console.axe import serious_problems
from tests.console.demo import fill
from tests.console.places import PLACES, Place

pytestmark = pytest.mark.browser

each_place = pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)


@pytest.fixture(scope="module", autouse=True)
def shop(server: Server):
    return fill(server)


@each_place
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_opens_without_complaints_and_axe_finds_nothing_serious(open_page, place: Place, scheme: str) -> None:
    page = open_page(place.path, scheme=scheme)
    page.wait_for_selector(place.ready)
    assert serious_problems(page) == []


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


def test_axe_would_find_something(open_page) -> None:
    page = open_page("/topics")
    page.evaluate("document.querySelector('#q').labels[0].remove()")
    page.evaluate("document.querySelector('main').append(document.createElement('img'))")
    found = serious_problems(page)
    assert any(one.startswith("image-alt") for one in found)
