"""The documentation builds without a warning, leads nowhere that is not there, and asks nobody outside for anything."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FETCHED = re.compile(r'<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)="(?:https?:)?//([^"/]+)')
IN_STYLE = re.compile(r"url\(['\"]?(?:https?:)?//([^)/'\"]+)|@import\s+['\"](?:https?:)?//([^/'\"]+)")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
IN_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (built.returncode, built.stdout, built.stderr) == (0, "", ""), built.stdout + built.stderr
    return folder


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


def test_every_page_can_be_reached_from_the_menu(site):
    menu = (site / "index.html").read_text()
    pages = [page.parent.relative_to(site) for page in site.rglob("index.html") if page.parent != site]
    listed = [page for page in pages if not re.fullmatch(r"adr/\d.*", str(page))]
    assert [str(page) for page in listed if f'href="{page}/"' not in menu and str(page) != "adr"] == []


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_the_first_pages_lead_somewhere(page):
    text = IN_CODE.sub("", (ROOT / page).read_text())
    targets = [target for target in LINK.findall(text) if not target.startswith(("http:", "https:"))]
    assert [target for target in targets if not (ROOT / target).exists()] == []
