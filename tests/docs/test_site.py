"""The documentation builds without a warning, leads nowhere that is not there, and asks nobody outside for anything."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FETCHED = re.compile(r'<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)="(?:https?:)?//([^"/]+)')
IN_STYLE = re.compile(r"url\(['\"]?(?:https?:)?//([^)/'\"]+)|@import\s+['\"](?:https?:)?//([^/'\"]+)")
IN_MENU = re.compile(r'<a href="(?!https?:)([^"#]*)"[^>]*class="md-(?:nav|tabs)__link')
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
BAR = re.compile(r"<t[dh][^>]*>(?:(?!</t[dh]>).)*\\\|", re.DOTALL)
IN_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def test_the_pages_fetch_nothing_from_elsewhere(site):
    asked = {
        f"{page.relative_to(site)}: {host}"
        for page in site.rglob("*.html")
        for host in FETCHED.findall(page.read_text())
    }
    asked |= {
        f"{style.relative_to(site)}: {match.group()}"
        for style in site.rglob("*.css")
        for match in IN_STYLE.finditer(style.read_text())
    }
    assert asked == set()


def test_every_page_can_be_reached_by_the_menus(site):
    reached, waiting = set(), {site / "index.html"}
    while waiting:
        page = waiting.pop()
        reached.add(page)
        targets = {(page.parent / target / "index.html").resolve() for target in IN_MENU.findall(page.read_text())}
        waiting |= {target for target in targets if target.exists()} - reached
    pages = {page.relative_to(site) for page in site.rglob("index.html")}
    missed = pages - {page.relative_to(site) for page in reached}
    assert {str(page) for page in missed if not re.match(r"adr/\d", str(page))} == set()


def test_a_bar_in_a_table_is_shown_without_a_backslash(site):
    pages = {str(page.relative_to(site)): BAR.findall(page.read_text()) for page in site.rglob("index.html")}
    assert {page: found for page, found in pages.items() if found} == {}


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_the_first_pages_lead_somewhere(page):
    text = IN_CODE.sub("", (ROOT / page).read_text())
    targets = [target for target in LINK.findall(text) if not target.startswith(("http:", "https:"))]
    assert [target for target in targets if not (ROOT / target).exists()] == []
