"""Examples of the documentation, run as printed by a reader who has a broker and a folder."""

import re
import tomllib
from pathlib import Path

import pytest

from goqueue.app.settings import Settings, load_settings
from tests.behaviour.serving import running_server
from tests.docs.follower import Follower
from tests.docs.markdown import RUN, blocks_of, needs_spark

ROOT = Path(__file__).parents[2]
FIRST_PAGES = [ROOT / "README.md", ROOT / "docs" / "index.md"]
PAGES = [
    *FIRST_PAGES,
    *(
        page
        for folder in ("concepts", "guides", "operations")
        for page in sorted((ROOT / "docs" / folder).glob("*.md"))
    ),
]
TOML = re.compile(r"^```toml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LEAST_WORDS = 2
NAMES = {page: f"{page.parent.name}/{page.stem}" if page not in FIRST_PAGES else page.stem for page in PAGES}
FOLLOWED = [
    pytest.param(page, id=name, marks=[pytest.mark.spark] if needs_spark(page) else []) for page, name in NAMES.items()
]


@pytest.mark.parametrize("page", NAMES, ids=NAMES.values())
def test_every_block_is_run_or_says_why_not(page):
    for block in blocks_of(page):
        reason = block.mark("not run")
        if reason is not None:
            assert block.language in RUN, f"{block.place}: what is in {block.language} is never run"
            assert len(reason.split()) >= LEAST_WORDS, f"{block.place}: say why it is not run"


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_settings_that_a_page_shows_are_settings(page, tmp_path):
    for number, block in enumerate(TOML.findall(page.read_text(encoding="utf-8"))):
        if tomllib.loads(block).keys() & set(Settings.__struct_fields__):
            file = tmp_path / f"{number}.toml"
            file.write_text(block)
            load_settings(file, {})


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("page", FOLLOWED)
def test_a_reader_can_do_what_the_page_says(page, tmp_path):
    folder = tmp_path / "reader"
    folder.mkdir()
    with running_server(tmp_path / "broker", "[tracing]\nrate = 1.0\n") as server:
        follower = Follower(folder, server, is_activated=page not in FIRST_PAGES)
        try:
            for block in blocks_of(page):
                if block.is_run:
                    follower.follow(block)
        finally:
            follower.close()
