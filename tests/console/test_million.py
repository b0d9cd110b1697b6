"""A topic of a million records is browsed without anybody having to wait."""

import time

import pytest

from goqueue.client.sync import Admin, Producer
from goqueue.model.topic import Durability, TopicConfig
from tests.behaviour.serving import Server

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MILLION = 1_000_000
AT_A_TIME = 10_000
SOON_S = 10.0
"""Generous: the machine may be busy. To read all of them takes many times as long."""


@pytest.fixture(scope="module", autouse=True)
def records(server: Server) -> None:
    with Admin(server.native) as admin, Producer(server.native) as producer:
        admin.create_topic("big", 4, TopicConfig(durability=Durability.MEMORY))
        for start in range(0, MILLION, AT_A_TIME):
            partition = start // AT_A_TIME % 4
            values = [b'{"number": %d}' % number for number in range(start, start + AT_A_TIME)]
            producer.send_many("big", values, partition=partition)


def test_its_newest_records_its_beginning_and_any_place_are_shown_at_once(open_page) -> None:
    page = open_page("/topics/big/records")
    began = time.monotonic()
    rows = page.locator("#records tbody tr")
    rows.first.wait_for()
    assert rows.count() == 50
    assert '"number": 999999' in rows.first.inner_text()
    for _ in range(3):
        top = rows.first.inner_text()
        page.get_by_role("link", name="Older").click()
        page.wait_for_function("top => document.querySelector('#records tbody tr').innerText !== top", arg=top)
        assert rows.count() == 50
    top = rows.first.inner_text()
    page.go_back()
    page.wait_for_function("top => document.querySelector('#records tbody tr')?.innerText !== top", arg=top)
    page.locator("#at").select_option("offset")
    page.locator("#partition").select_option("2")
    page.locator("#offset").fill("123456")
    page.get_by_role("button", name="Seek").click()
    page.wait_for_selector("#records a:has-text('2 · 123,456')")
    assert rows.count() == 50
    page.get_by_role("link", name="Previous").click()
    page.wait_for_selector("#records a:has-text('2 · 123,455')")
    assert time.monotonic() - began < SOON_S


def test_the_page_stays_small(open_page) -> None:
    page = open_page("/topics/big/records")
    page.locator("#records tbody tr").first.wait_for()
    assert page.evaluate("document.documentElement.outerHTML.length") < 200_000
