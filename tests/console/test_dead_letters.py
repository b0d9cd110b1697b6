"""Dead letters in the browser: found by a filter, looked at, mended, sent back one by one or all at once, or purged."""

import json
import re

import httpx
import pytest
from playwright.sync_api import expect

from goqueue.client.sync import Admin, Producer, Worker
from goqueue.model.topic import TopicConfig
from tests.behaviour.serving import Server, name_of
from tests.console.axe import problems_of

pytestmark = pytest.mark.browser

BROKEN, UNKNOWN = "the address has no postal code", "nobody knows this article"


@pytest.fixture
def topic(server: Server, request: pytest.FixtureRequest) -> str:
    """With thirty records that a worker has given up on: on ten for one reason, on twenty for another."""
    name = name_of(request.node.nodeid)
    with Admin(server.native) as admin, Producer(server.native) as producer:
        admin.create_topic(name, 1, TopicConfig(retry_backoff_ms=1))
        for number in range(30):
            value = json.dumps({"ticket": number, "zip": None}).encode()
            producer.send(name, value, key=b"ticket-%d" % number, headers=(("source", b"desk"),))
    with Worker(name, group="printer", bootstrap=server.native) as worker:
        jobs = worker.take(limit=30, wait_ms=10_000)
        worker.nack(jobs[0], reason="timeout at the first try", delay_ms=0)
        worker.reject(*jobs[1:10], reason=BROKEN)
        worker.reject(*jobs[10:], reason=UNKNOWN)
        worker.reject(*worker.take(limit=1, wait_ms=10_000), reason=BROKEN)
    return name


def taken(server: Server, topic: str, count: int) -> list[bytes | None]:
    """What a worker is given and acknowledges."""
    with Worker(topic, group="printer", bootstrap=server.native) as worker:
        found: list[bytes | None] = []
        while len(found) < count:
            jobs = worker.take(limit=count - len(found), wait_ms=10_000)
            assert jobs, f"only {len(found)} of {count} came"
            worker.ack(*jobs)
            found += [job.value for job in jobs]
        return found


def left(server: Server, topic: str) -> int:
    return httpx.get(f"http://{server.http}/dlq/{topic}/stats").json()["count"]


def test_a_letter_is_found_mended_sent_back_and_worked_on(open_page, server: Server, topic: str) -> None:
    page = open_page(f"/dlq/{topic}.dlq")
    assert page.locator("#stats .bars li").first.inner_text().split()[-1] == "20"
    page.locator("#reason").fill("POSTAL code")
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url("**reason=*")
    rows = page.locator("#letters tbody tr")
    assert rows.count() == 10
    assert set(page.locator("#letters tbody td.grow:nth-child(4)").all_inner_texts()) == {BROKEN}
    rows.last.locator("a").click()
    page.wait_for_selector("#record article")
    assert "timeout at the first try" in page.locator("#record .attempts").inner_text()
    assert f"{topic} 0 · 0" in page.locator("#record .pairs").first.inner_text()

    page.locator("#record details.fold summary").click()
    page.locator("#edit-value").fill('{\n  "ticket": 0,\n  "zip": "8010"\n}')
    page.locator("#edit-headers").fill("source: desk\nmended-by: anna")
    page.get_by_role("button", name="Send back").click()
    page.wait_for_selector("#record .notice")
    assert "changed" in page.locator("#record .notice").inner_text()
    expect(page.locator("#letters tbody tr")).to_have_count(9)

    assert taken(server, topic, 1) == [b'{"ticket": 0, "zip": "8010"}']
    assert left(server, topic) == 29
    page.locator("#record .notice a").first.click()
    page.wait_for_selector("#value")
    assert "mended-by" in page.locator(".headers").inner_text()


def test_all_letters_of_a_filter_go_back_with_progress_and_leave_the_list(
    open_page, server: Server, topic: str
) -> None:
    page = open_page(f"/dlq/{topic}.dlq?reason=article")
    page.locator("#scope").select_option("matching")
    page.locator("#rate").fill("8")
    page.get_by_role("button", name="Try").click()
    page.wait_for_selector("#act:has-text('What would happen')")
    assert "20 letters would be sent back" in page.locator("#act").inner_text()
    assert left(server, topic) == 30

    page.evaluate(
        """() => { window.seen = []; new MutationObserver(() => {
             const done = document.querySelector('[data-done]'); if (done) window.seen.push(Number(done.textContent));
           }).observe(document.getElementById('act'), {childList: true, subtree: true}); }"""
    )
    page.get_by_role("button", name="Redrive").click()
    page.wait_for_selector("#act:has-text('Redrive is over')", timeout=60_000)
    seen = sorted(set(page.evaluate("window.seen")))
    assert seen[0] == 0 and seen[-1] == 20
    assert len(seen) >= 4, "it went in one step, so there was no progress to see"
    assert page.locator("#act progress").get_attribute("value") == "20"
    page.wait_for_selector("#letters .empty")

    assert sorted(json.loads(value)["ticket"] for value in taken(server, topic, 20)) == list(range(10, 30))
    assert left(server, topic) == 10


def test_a_redrive_can_be_stopped_and_what_is_done_stays_done(open_page, server: Server, topic: str) -> None:
    page = open_page(f"/dlq/{topic}.dlq")
    page.locator("#scope").select_option("matching")
    page.locator("#rate").fill("2")
    page.get_by_role("button", name="Redrive").click()
    expect(page.locator("[data-done]")).to_have_text(re.compile("[2-9]"))
    page.get_by_role("link", name="Stop").click()
    page.wait_for_selector("#letters tbody tr")
    page.wait_for_timeout(1500)
    gone = 30 - left(server, topic)
    assert 2 <= gone < 20
    page.wait_for_timeout(1500)
    assert 30 - left(server, topic) == gone
    assert len(taken(server, topic, gone)) == gone


def test_only_the_letters_that_are_ticked_go_back(open_page, server: Server, topic: str) -> None:
    page = open_page(f"/dlq/{topic}.dlq")
    page.get_by_role("button", name="Redrive").click()
    page.watch.tolerate("400")
    page.wait_for_selector("#act .problem:has-text('no letter is ticked')")
    for number in (0, 3):
        page.locator("#letters tbody input[type=checkbox]").nth(number).check()
    page.get_by_role("button", name="Redrive").click()
    page.wait_for_selector("#act:has-text('Redrive is over')")
    expect(page.locator("#letters tbody tr")).to_have_count(28)
    assert [json.loads(value)["ticket"] for value in taken(server, topic, 2)] == [1, 4]


def test_letters_that_cannot_go_back_are_counted_told_and_kept(open_page, server: Server, topic: str) -> None:
    with Admin(server.native) as admin:
        admin.create_topic(f"{topic}-small", 1, TopicConfig(max_value_bytes=10))
    page = open_page(f"/dlq/{topic}.dlq")
    page.locator("#scope").select_option("matching")
    page.locator("#to").fill(f"{topic}-small")
    page.get_by_role("button", name="Redrive").click()
    page.wait_for_selector("#act:has-text('Redrive is over')")
    said = page.locator("#act").inner_text()
    assert "30 could not be" in said and "the limit" in said
    assert left(server, topic) == 30


def test_a_purge_wants_the_name_and_then_takes_what_was_ticked(open_page, server: Server, topic: str) -> None:
    page = open_page(f"/dlq/{topic}.dlq?reason=postal")
    page.watch.tolerate("400")
    page.locator("[data-tick-all]").check()
    page.get_by_role("button", name="Purge").click()
    page.wait_for_selector("#act:has-text('Purge 10 letters')")
    page.locator("#confirm").fill("something else")
    page.get_by_role("button", name="Purge for good").click()
    page.wait_for_selector("#act .problem")
    assert left(server, topic) == 30
    page.locator("[data-tick-all]").check()
    page.get_by_role("button", name="Purge").click()
    page.locator("#confirm").fill(f"{topic}.dlq")
    page.get_by_role("button", name="Purge for good").click()
    page.wait_for_selector("#act:has-text('10 letters are purged')")
    page.wait_for_selector("#letters .empty")
    assert left(server, topic) == 20


def test_one_letter_is_purged_from_its_page(open_page, server: Server, topic: str) -> None:
    page = open_page(f"/dlq/{topic}.dlq/0/0")
    page.locator("details.confirm summary").click()
    page.get_by_role("button", name="Purge it for good").click()
    page.wait_for_selector(".notice:has-text('Purged')")
    assert left(server, topic) == 29
    page.watch.tolerate("404")
    page.goto(f"http://{server.http}/console/dlq/{topic}.dlq/0/0")
    assert "there is no dead letter" in page.locator(".problem").inner_text()


def test_an_edit_that_is_refused_changes_nothing_and_keeps_what_was_typed(
    open_page, server: Server, topic: str
) -> None:
    page = open_page(f"/dlq/{topic}.dlq/0/0")
    page.watch.tolerate("400")
    page.locator("details.fold summary").click()
    page.locator("#edit-value").fill("my careful work")
    page.locator("#edit-topic").fill("no-such-topic")
    page.get_by_role("button", name="Send back").click()
    page.wait_for_selector(".problem")
    assert "no-such-topic" in page.locator(".problem").inner_text()
    assert page.locator("#edit-value").input_value() == "my careful work"
    assert left(server, topic) == 30


def test_everything_works_without_scripts(browser, server: Server, topic: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"http://{server.http}/console/dlq/{topic}.dlq?reason=postal")
    page.locator("#letters tbody tr a").first.click()
    page.get_by_role("button", name="Send back").click()
    assert "Sent back" in page.locator(".notice").inner_text()
    page.goto(f"http://{server.http}/console/dlq/{topic}.dlq")
    page.locator("#scope").select_option("matching")
    page.get_by_role("button", name="Redrive").click()
    page.get_by_role("button", name="Go on").click()
    assert "Redrive is over" in page.locator("main").inner_text()
    assert left(server, topic) == 0
    context.close()


def test_the_overview_says_which_topics_have_letters_and_why(open_page, topic: str) -> None:
    page = open_page("/dlq")
    row = page.locator("#dead-topics tr", has_text=f"{topic}.dlq")
    assert row.locator("td").first.inner_text() == "30"
    assert UNKNOWN in row.inner_text()
    row.get_by_text(UNKNOWN).click()
    page.wait_for_selector("#letters tbody tr")
    assert page.locator("#letters tbody tr").count() == 20


def test_the_overview_counts_down_by_itself(open_page, server: Server, topic: str) -> None:
    page = open_page("/dlq")
    letters = page.locator("#dead-topics tr", has_text=f"{topic}.dlq").locator("td").first
    expect(letters).to_have_text("30")
    answer = httpx.request("DELETE", f"http://{server.http}/dlq/{topic}", json={"select": {"reason": BROKEN}})
    assert answer.json()["purged"] == 10, answer.text
    expect(letters).to_have_text("20", timeout=30_000)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_while_somebody_works(open_page, topic: str, scheme: str) -> None:
    page = open_page(f"/dlq/{topic}.dlq", scheme=scheme)
    page.locator("#letters tbody a").first.click()
    page.wait_for_selector("#record article")
    page.locator("#record details.fold summary").click()
    page.locator("[data-tick-all]").check()
    for button, sign in (("Try", "What would happen"), ("Purge", "no way back"), ("Redrive", "Redrive is over")):
        page.locator("#bulk").get_by_role("button", name=button).click()
        page.wait_for_selector(f"#act:has-text('{sign}')")
        assert problems_of(page) == []
