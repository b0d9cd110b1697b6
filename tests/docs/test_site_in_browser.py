"""The documentation site as a reader uses it, at a desk and on a phone: search, copy buttons, dark mode."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.console.watching import Watch
from tests.docs.markdown import blocks_of

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
PAGE = "guides/dead-letters/"
DESK, PHONE = (1280, 900), (390, 844)
SIZES = pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def reader(browser: Browser, address: str, size: tuple[int, int]) -> Iterator[Page]:
    """A page of the site; the test fails if it printed errors or asked another host for anything."""
    context = browser.new_context(
        base_url=f"http://{address}/", viewport={"width": size[0], "height": size[1]}, color_scheme="light"
    )
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=f"http://{address}")
    page = context.new_page()
    watch = Watch(page, address)
    yield page
    context.close()
    watch.check()


def background(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


@SIZES
@pytest.mark.parametrize(("words", "found"), [("dead letter", PAGE), ("settings", "reference/settings/")])
def test_a_search_finds_the_page_and_opens_it(reader: Page, words: str, found: str):
    reader.goto("")
    reader.locator(".md-search__button, label.md-header__button[for=__search]").locator("visible=true").click()
    reader.get_by_role("combobox", name="Search").fill(words)
    first = reader.get_by_role("option").first
    expect(first.locator("mark").first).to_be_visible()
    first.click()
    reader.wait_for_url(f"**/{found}**")


@SIZES
def test_a_copy_button_copies_what_the_block_shows(reader: Page):
    reader.goto(PAGE)
    blocks = blocks_of(ROOT / "docs" / "guides" / "dead-letters.md")
    buttons = reader.get_by_title("Copy to clipboard")
    expect(buttons).to_have_count(len(blocks))
    for number, block in enumerate(blocks):
        buttons.nth(number).click()
        reader.wait_for_function("text => navigator.clipboard.readText().then(t => t === text)", arg=block.text.strip())


@SIZES
def test_the_palette_switches_to_dark_and_a_reload_keeps_it(reader: Page):
    reader.goto(PAGE)
    light = background(reader)
    reader.get_by_title("Switch to dark mode").click()
    expect(reader.locator("body")).to_have_attribute("data-md-color-scheme", "slate")
    dark = background(reader)
    assert dark != light
    reader.reload()
    expect(reader.locator("body")).to_have_attribute("data-md-color-scheme", "slate")
    assert background(reader) == dark
    reader.get_by_title("Switch to light mode").click()
    expect(reader.locator("body")).to_have_attribute("data-md-color-scheme", "default")


@pytest.mark.slow
@pytest.mark.parametrize("size", [PHONE], ids=["phone"])
def test_no_page_scrolls_sideways_on_a_phone(reader: Page, site: Path):
    wide = {}
    for file in sorted(site.rglob("index.html")):
        path = str(file.parent.relative_to(site))
        reader.goto(f"{path}/" if path != "." else "")
        over = reader.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if over > 0:
            wide[path] = over
    assert wide == {}


@SIZES
def test_names_in_tables_stay_in_one_piece(reader: Page):
    reader.goto("reference/python/")
    names = reader.locator("td:first-child code")
    assert names.count() > 100
    shown = names.evaluate_all("all => all.map(one => [one.textContent, one.getClientRects().length])")
    assert [name for name, lines in shown if lines > 1 and " " not in name] == []
