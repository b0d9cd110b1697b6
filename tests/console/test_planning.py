"""What is planned, in the browser: delayed records are found, moved and cancelled; schedules made, paused, deleted."""

import httpx
import pytest
from playwright.sync_api import expect

from goqueue.client.sync import Admin, Producer, Worker
from tests.behaviour.serving import Server, name_of

pytestmark = pytest.mark.browser


@pytest.fixture
def topic(server: Server, request: pytest.FixtureRequest) -> str:
    """With sixty records that are due one after the other, from in an hour on."""
    name = name_of(request.node.nodeid)
    with Admin(server.native) as admin, Producer(server.native) as producer:
        admin.create_topic(name, 1)
        for number in range(60):
            producer.send(name, b"note %d" % number, key=b"k-%d" % number, delay_ms=3_600_000 + number * 1000)
    return name


def pending(server: Server, topic: str) -> int:
    return httpx.get(f"http://{server.http}/topics/{topic}/delayed?limit=1").json()["total"]


def test_delayed_records_are_listed_by_when_they_are_due_in_pages(open_page, topic: str) -> None:
    page = open_page("/delays")
    page.get_by_role("link", name=topic).click()
    page.wait_for_selector("#delays tbody tr")
    assert page.locator("#delays tbody tr").count() == 50
    assert "note 0" in page.locator("#delays tbody tr").first.inner_text()
    page.get_by_role("link", name="Next").click()
    page.wait_for_selector("#delays:has-text('51–60 of 60')")
    assert "note 59" in page.locator("#delays tbody tr").last.inner_text()


def test_a_delayed_record_is_found_by_what_it_says_and_delivered_now(open_page, server: Server, topic: str) -> None:
    page = open_page(f"/delays/{topic}")
    page.locator("#q").fill("note 42")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#delays tbody tr")).to_have_count(1)
    page.locator("#delays tbody a").click()
    page.wait_for_selector("#record article")
    page.locator("#delay").fill("0ms")
    page.get_by_role("button", name="Reschedule").click()
    page.wait_for_selector(".notice:has-text('another time')")
    with Worker(topic, group="reader", bootstrap=server.native) as worker:
        (job,) = worker.take(limit=1, wait_ms=10_000)
        assert job.value == b"note 42"
        worker.ack(job)
    assert pending(server, topic) == 59


def test_a_time_that_cannot_be_read_changes_nothing_and_says_how_to_write_it(
    open_page, server: Server, topic: str
) -> None:
    page = open_page(f"/delays/{topic}/0/3")
    page.watch.tolerate("400")
    page.locator("#at").fill("tomorrow")
    page.get_by_role("button", name="Reschedule").click()
    page.wait_for_selector(".problem:has-text('2026-01-31')")
    assert page.locator("#at").input_value() == "tomorrow"
    assert pending(server, topic) == 60


def test_records_that_are_ticked_are_cancelled(open_page, server: Server, topic: str) -> None:
    page = open_page(f"/delays/{topic}")
    page.locator("#delays tbody input[type=checkbox]").nth(1).check()
    page.locator("#delays tbody input[type=checkbox]").nth(2).check()
    page.get_by_role("button", name="Cancel those").click()
    page.wait_for_selector(".notice:has-text('never delivered')")
    assert pending(server, topic) == 58
    assert "note 3" in page.locator("#delays tbody tr").nth(1).inner_text()


def test_one_record_is_cancelled_from_its_page(open_page, server: Server, topic: str) -> None:
    page = open_page(f"/delays/{topic}/0/7")
    page.locator("details.confirm summary").click()
    page.get_by_role("button", name="Cancel it for good").click()
    page.wait_for_selector(".notice:has-text('never delivered')")
    assert httpx.get(f"http://{server.http}/topics/{topic}/delayed/0/7").json()["state"] == "cancelled"


def test_a_schedule_is_created_fires_is_paused_resumed_and_deleted(open_page, server: Server, topic: str) -> None:
    name = f"{topic}-tick"
    page = open_page("/schedules")
    page.get_by_role("link", name="Create a schedule").first.click()
    page.locator("#id").fill(name)
    page.locator("#topic").fill(topic)
    page.locator("#kind").select_option("every")
    page.locator("#every").fill("1s")
    page.locator("#value").fill("tick")
    page.locator("#headers").fill("made-by: hand")
    page.get_by_role("button", name="Create schedule").click()
    page.wait_for_selector(".notice:has-text('fires as it says')")
    assert page.locator("#schedule-next li").count() == 5
    page.wait_for_selector("#schedule-history .badge:has-text('fired')")
    with Worker(topic, group="reader", bootstrap=server.native) as worker:
        job = worker.take(limit=1, wait_ms=10_000)[0]
        assert job.value == b"tick" and ("made-by", b"hand") in job.message.headers

    page.get_by_role("button", name="Pause").click()
    page.wait_for_selector(".notice:has-text('paused')")
    assert status(server, name) == "paused"
    assert page.locator("#schedule-next li").count() == 0
    page.get_by_role("button", name="Resume").click()
    page.wait_for_selector(".notice:has-text('goes on')")
    assert status(server, name) == "active"

    page.watch.tolerate("400")
    page.get_by_role("button", name="Delete schedule").click()
    page.wait_for_selector(".problem:has-text('does not match')")
    page.locator("#id").fill(name)
    page.get_by_role("button", name="Delete schedule").click()
    page.wait_for_selector(".notice:has-text('gone')")
    assert httpx.get(f"http://{server.http}/schedules/{name}").status_code == 404


def status(server: Server, name: str) -> str:
    return httpx.get(f"http://{server.http}/schedules/{name}").json()["status"]


def test_a_cron_schedule_that_cannot_be_says_why_and_keeps_what_was_typed(
    open_page, server: Server, topic: str
) -> None:
    page = open_page("/new-schedule")
    page.watch.tolerate("400")
    page.locator("#id").fill("never")
    page.locator("#topic").fill(topic)
    page.locator("#cron").fill("61 25 * * *")
    page.get_by_role("button", name="Create schedule").click()
    page.wait_for_selector(".problem")
    assert page.locator("#cron").input_value() == "61 25 * * *"
    assert httpx.get(f"http://{server.http}/schedules/never").status_code == 404
