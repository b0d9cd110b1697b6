"""Chromium, and brokers for it to look at: one of each for a file."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.behaviour.serving import Server, running_server
from tests.console.watching import Watch

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str:
    found = filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    return next(found, None) or pytest.skip("there is no Chromium on this machine")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """While Playwright is there its event loop counts as running, and no other may: so it ends with the file."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS, env={**os.environ})
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("console")
    with running_server(folder) as running:
        yield running


OpenPage = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser, server: Server) -> Iterator[OpenPage]:
    """Opens a path of the console; whatever a page complained about or asked others for fails the test at its end."""
    watches: list[Watch] = []
    contexts = []

    def opened(path: str, *, scheme: str = "light", width: int = 1280, height: int = 900) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        watch = Watch(page, server.http)
        watches.append(watch)
        page.watch = watch
        page.goto(f"http://{server.http}/console{path}")
        return page

    yield opened
    for context in contexts:
        context.close()
    for watch in watches:
        watch.check()
