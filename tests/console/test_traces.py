"""Traces, messages and transactions in the browser: what stands below what, where a record is, what hangs."""

import httpx
import pytest

from tests.behaviour.serving import Server
from tests.console.demo_workbench import TRACE, fill_workbench

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", autouse=True)
def shop(server: Server) -> None:
    """A topic that the schedules of the shop publish to, and all the rest."""
    answer = httpx.post(f"http://{server.http}/topics", json={"name": "audit", "num_partitions": 1})
    assert answer.is_success, answer.text
    fill_workbench(server)


def rows(page) -> list[tuple[str, int, float, float]]:
    """Operation, depth, and where the bar begins and ends, of each row of a waterfall."""
    return [
        tuple(one)
        for one in page.locator(".waterfall tbody tr").evaluate_all(
            """all => all.map(row => { const bar = row.querySelector('rect'); const x = Number(bar.getAttribute('x'));
                 return [row.querySelector('strong').textContent, Number(row.dataset.depth), x,
                         x + Number(bar.getAttribute('width'))]; })"""
        )
    ]


def test_a_trace_is_drawn_as_a_waterfall_with_everything_below_what_caused_it(open_page) -> None:
    page = open_page("/traces")
    page.locator("#traces a", has_text="parcels 0 · 0").click()
    page.wait_for_selector(".waterfall")
    assert page.locator("#trace-id").inner_text() == TRACE
    found = rows(page)
    assert [(operation, depth) for operation, depth, _, _ in found[:8]] == [
        ("publish", 0),
        *[("consume", 1), ("nack", 2)] * 3,
        ("dlq", 2),
    ]
    # The letter, and what became of it, are below the span in which its record died.
    assert [row[:2] for row in found[8:]] == [
        ("publish", 3),
        ("redrive", 4),
        ("publish", 3),
        ("consume", 4),
        ("ack", 5),
    ]
    starts = [row[2] for row in found]
    assert starts[0] == 0 and starts == sorted(starts), "they are not in the order in which they happened"
    assert max(row[3] for row in found) == pytest.approx(1000, abs=1)
    assert "nobody at home" in page.locator(".waterfall").inner_text()


def test_bars_are_drawn_where_the_axis_says(open_page) -> None:
    page = open_page(f"/traces/{TRACE}")
    axis = page.locator(".waterfall thead svg").bounding_box()
    bars = page.locator(".waterfall rect").evaluate_all("all => all.map(bar => bar.getBoundingClientRect().toJSON())")
    assert all(axis["x"] - 1 <= bar["left"] and bar["right"] <= axis["x"] + axis["width"] + 1 for bar in bars)
    assert all(bar["width"] >= 1 for bar in bars)
    assert bars[-1]["left"] > bars[0]["left"] + axis["width"] / 2


def test_spans_are_searched_by_what_they_have_in_common(open_page) -> None:
    page = open_page("/traces")
    page.locator("#topic").fill("parcels")
    page.locator("#operation").select_option("nack")
    page.get_by_role("button", name="Search").click()
    page.wait_for_selector("#traces:has-text('Spans that fit')")
    assert page.locator("#traces tbody tr").count() == 3
    page.locator("#group").fill("nobody")
    page.get_by_role("button", name="Search").click()
    page.wait_for_selector("#traces .empty")
    page.locator("#trace").fill(TRACE)
    page.get_by_role("button", name="Open").click()
    page.wait_for_selector(".waterfall")


def test_a_message_is_found_by_its_key_and_its_page_says_where_it_is(open_page) -> None:
    page = open_page("/journey")
    page.locator("#topic").fill("parcels")
    page.locator("#by").select_option("key")
    page.locator("#key").fill("parcel-1")
    page.get_by_role("button", name="Find").click()
    page.wait_for_selector("#headline")
    assert page.locator("#headline").inner_text() == "It is in the log: for courier it is done."
    assert page.locator(".waterfall rect").count() == 13

    page.locator("#by").select_option("offset")
    page.locator("#partition").fill("0")
    page.locator("#offset").fill("0")
    page.get_by_role("button", name="Find").click()
    page.wait_for_selector("#headline:has-text('dead letter')")
    assert page.get_by_role("link", name="The dead letter").count() == 1


def test_a_message_is_found_by_its_id(open_page, server: Server) -> None:
    body = {"value": "x", "id": "order-77", "delay": "1h"}
    assert httpx.post(f"http://{server.http}/topics/reminders/messages", json=body).is_success
    page = open_page("/journey?topic=reminders&by=id&id=order-77")
    page.wait_for_selector("#headline:has-text('waits until it is due')")


def test_a_message_that_is_not_there_is_no_failure_of_the_console(open_page) -> None:
    page = open_page("/journey?topic=parcels&by=key&key=nobody")
    page.watch.tolerate("404")
    page.wait_for_selector(".problem:has-text('has no record with that key')")
    assert page.locator("#key").input_value() == "nobody"


def test_the_oldest_transaction_is_first_and_is_aborted_only_when_its_number_is_typed(
    open_page, server: Server
) -> None:
    page = open_page("/transactions")
    row = page.locator("#transactions tbody tr").first
    assert "ledger-writer" in row.inner_text() and "12" in row.inner_text()
    row.locator("a").click()
    page.wait_for_selector("h1:has-text('Transaction 1')")
    assert "audit" in page.locator("main").inner_text()
    page.watch.tolerate("400")
    page.locator("#number").fill("2")
    page.get_by_role("button", name="Abort transaction").click()
    page.wait_for_selector(".problem:has-text('does not match')")
    assert state(server) == "open"
    page.locator("#number").fill("1")
    page.get_by_role("button", name="Abort transaction").click()
    page.wait_for_selector(".notice:has-text('aborted')")
    assert state(server) == "aborted"
    assert "an operator aborted it" in page.locator("main").inner_text()


def state(server: Server) -> str:
    return httpx.get(f"http://{server.http}/transactions/1").json()["state"]


def test_a_part_that_is_prepared_is_shown_as_such(open_page, server: Server) -> None:
    begun = httpx.post(f"http://{server.http}/transactions/parts/begin", json={"key": "batch-9"}).json()
    where = {"transaction": begun["transaction"], "producer_id": begun["producer_id"], "epoch": begun["epoch"]}
    assert httpx.post(f"http://{server.http}/transactions/parts/prepare", json=where).is_success
    page = open_page("/transactions")
    row = page.locator("#transactions tbody tr", has_text="batch-9")
    assert "prepared" in row.inner_text()
    row.locator("a").click()
    page.wait_for_selector("main:has-text('which parts make up the whole')")
