"""Nothing that others wrote runs on the pages of dead letters, delays, schedules, schemas, transactions and traces."""

import json
from urllib.parse import quote

import httpx
import pytest

from goqueue.client.sync import Admin, Producer, Worker
from goqueue.model.topic import TopicConfig
from tests.behaviour.serving import Server

pytestmark = pytest.mark.browser

SCRIPT = "<script>window.ran=1</script>"
EVIL = "\"'><img src=x onerror=window.ran=1>" + SCRIPT + "{{7*7}}${7*7}</textarea></pre></title></select>"
TRACE = "0af7651916cd43dd8448eb211c80319c"
PROTO = f'syntax = "proto3";\n// {EVIL}\nmessage Evil {{\n  string a = 1;\n}}\n'


@pytest.fixture(scope="module", autouse=True)
def poison(server: Server) -> None:
    """The same words in every place where somebody else may write."""
    evil = EVIL.encode()
    with Admin(server.native) as admin, Producer(server.native) as producer:
        admin.create_topic("evil", 1, TopicConfig(max_attempts=2, retry_backoff_ms=1, trace_rate=1.0))
        admin.create_topic("later", 1)
        headers = ((EVIL, evil), ("x", evil), ("traceparent", f"00-{TRACE}-b7ad6b7169203331-01".encode()))
        producer.send("evil", evil, key=evil, headers=headers, id=EVIL[:100])
        producer.send("evil", json.dumps({EVIL: EVIL}).encode(), key=evil, headers=headers)
        producer.send("later", evil, key=evil, headers=((EVIL, evil),), delay_ms=3_600_000)
    with Worker("evil", group="reader", bootstrap=server.native, client_id=EVIL[:200]) as worker:
        for _ in range(2):
            worker.nack(*worker.take(limit=2, wait_ms=10_000), reason=EVIL, delay_ms=0)
    schedule = {
        **{"id": "evil", "topic": "evil", "cron": "0 0 1 1 *", "description": EVIL, "key": EVIL, "value": EVIL},
        "headers": {EVIL: EVIL},
    }
    post(server, "/schedules", schedule)
    for text in (PROTO, PROTO.replace("Evil {", f"Evil {{\n  // {SCRIPT}\n  string b = 2;")):
        path = f"/schemas/subjects/{quote(EVIL, safe='')}/versions"
        post(server, path, {"schema": text, "schemaType": "PROTOBUF"})
    producer_ = post(server, "/producers/init", {"transactional_id": EVIL[:200], "transaction_timeout_ms": 900_000})
    post(server, "/transactions/begin", producer_)
    post(server, "/transactions/parts/begin", {"key": EVIL[:200], "timeout_ms": 900_000})


def post(server: Server, path: str, body: dict[str, object]) -> dict:
    answer = httpx.post(f"http://{server.http}{path}", json=body)
    assert answer.is_success, answer.text
    return answer.json()


def check_nothing_ran(page) -> None:
    page.wait_for_load_state("load")
    page.wait_for_timeout(150)
    assert page.evaluate("window.ran") is None
    assert page.locator("img[src=x]").count() == 0
    assert "49" not in page.locator("h1").inner_text()


@pytest.mark.parametrize(
    ("path", "shown_in"),
    [
        ("/dlq", "#dead-topics"),
        ("/dlq/evil.dlq", "#stats"),
        ("/dlq/evil.dlq", "#letters"),
        ("/dlq/evil.dlq/0/0", "#record"),
        ("/dlq/evil.dlq/0/1", "#value"),
        ("/delays/later", "#delays"),
        ("/delays/later/0/0", "#value"),
        ("/schedules", "#schedules"),
        ("/schedules/evil", "main"),
        ("/schemas", "#rows"),
        ("/schemas/" + quote(EVIL, safe=""), "#schema-text"),
        ("/schemas/" + quote(EVIL, safe=""), "#diff"),
        ("/transactions", "#transactions"),
        ("/transactions/1", "main"),
        ("/transactions/2", "main"),
        ("/traces?status=error", "#traces"),
        (f"/traces/{TRACE}", ".waterfall"),
        ("/journey?topic=evil&partition=0&offset=0", "main"),
    ],
)
def test_what_others_wrote_is_shown_and_does_not_run(open_page, path: str, shown_in: str) -> None:
    page = open_page(path)
    check_nothing_ran(page)
    assert "window.ran=1" in page.locator(shown_in).inner_text(), "the words are not there, so nothing was tried"


def test_letters_and_delays_that_come_in_later_do_not_run_either(open_page) -> None:
    page = open_page("/dlq/evil.dlq")
    page.locator("#letters tbody a").first.click()
    page.wait_for_selector("#record article")
    check_nothing_ran(page)
    for form in ("JSON", "Text", "Hex"):
        page.locator("#record .seg a", has_text=form).click()
        page.wait_for_selector(f"#record .seg a[aria-current]:has-text('{form}')")
        check_nothing_ran(page)
    page.locator("#record details.fold summary").click()
    assert page.locator("#edit-value").input_value() == EVIL
    page.locator("[data-tick-all]").check()
    page.get_by_role("button", name="Try").click()
    page.wait_for_selector("#act section")
    check_nothing_ran(page)


@pytest.mark.parametrize(
    "path",
    [
        *("/dlq/{}", "/dlq/evil.dlq/0/{}", "/dlq/evil.dlq/{}/0", "/dlq/evil.dlq/0/0?form={}", "/dlq/{}/stats"),
        *("/dlq/evil.dlq?reason={0}&cause={0}&key={0}&group={0}", "/dlq/evil.dlq?since={}", "/dlq/evil.dlq?after={}"),
        *("/dlq/evil.dlq/0/0?reason={0}&key={0}", "/delays/{}", "/delays/later?q={}", "/delays/later/0/{}"),
        *(
            "/delays/later/0/0?form={}",
            "/schedules/{}",
            "/schedules?q={}",
            "/schemas?q={}",
            "/schemas/{}x",
            "/schemas/evil?version={}",
        ),
        *("/transactions/{}", "/transactions?number={}", "/transactions?after={}", "/traces/{}", "/traces?trace={}"),
        *("/traces?topic={0}&group={0}&key={0}&id={0}", "/traces?since={}", "/traces?operation={}"),
        *("/journey?topic={}", "/journey?topic=evil&by=key&key={}", "/journey?topic=evil&by=id&id={}"),
        *("/journey?topic=evil&by={}", "/journey?topic=evil&partition={}"),
    ],
)
def test_what_an_address_says_does_not_run(open_page, path: str) -> None:
    page = open_page(path.format(quote(EVIL, safe="")))
    page.watch.tolerate("404", "400")
    check_nothing_ran(page)
    assert page.locator("h1").count() == 1


@pytest.mark.parametrize(
    ("path", "fields", "button"),
    [
        ("/delays/later/0/0", {"delay": EVIL, "at": EVIL}, "Reschedule"),
        ("/new-schedule", {"id": EVIL, "topic": EVIL, "value": EVIL, "headers": EVIL, "key": EVIL}, "Create schedule"),
        ("/new-schedule", {"id": "x", "topic": "evil", "cron": EVIL, "zone": EVIL, "start": ""}, "Create schedule"),
        ("/new-schedule", {"id": "x", "topic": "evil", "cron": "* * * * *", "start": EVIL}, "Create schedule"),
        ("/schedules/evil", {"id": EVIL}, "Delete schedule"),
        ("/new-schema", {"subject": EVIL, "schema": EVIL}, "Register"),
        ("/new-schema", {"subject": EVIL, "schema": EVIL}, "Try it"),
        ("/transactions/1", {"number": EVIL}, "Abort transaction"),
    ],
)
def test_what_was_typed_into_a_form_does_not_run(open_page, path: str, fields: dict[str, str], button: str) -> None:
    page = open_page(path)
    page.watch.tolerate("400", "409", "422")
    for name, text in fields.items():
        page.locator(f"main [name={name}]").first.fill(text)
    page.get_by_role("button", name=button, exact=True).click()
    page.wait_for_selector(".problem")
    check_nothing_ran(page)


def test_what_was_typed_into_the_workbench_does_not_run(open_page) -> None:
    page = open_page("/dlq/evil.dlq/0/0")
    page.watch.tolerate("400")
    page.locator("details.fold summary").click()
    for field in ("edit-value", "edit-key", "edit-topic"):
        page.locator(f"#{field}").fill(EVIL * 2)
    page.get_by_role("button", name="Send back").click()
    page.wait_for_selector(".problem")
    check_nothing_ran(page)
    page = open_page("/dlq/evil.dlq")
    page.watch.tolerate("400")
    page.locator("[data-tick-all]").check()
    for field, button in (("to", "Redrive"), ("rate", "Redrive"), ("to", "Try")):
        page.locator("#to").fill("")
        page.locator("#rate").fill("")
        page.locator(f"#{field}").fill(EVIL)
        page.get_by_role("button", name=button, exact=True).click()
        page.wait_for_selector("#act > *")
        check_nothing_ran(page)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/dlq/evil.dlq/act", {"do": "nothing"}),
        ("/dlq/evil.dlq/act", {"do": "redrive", "scope": "matching", "rate": "-1"}),
        ("/dlq/evil.dlq/act", {"do": "continue", "scope": "matching", "after": "x"}),
        ("/dlq/evil.dlq/act", {"do": "continue", "scope": "matching", "ends": "1.x"}),
        ("/dlq/evil.dlq/act", {"do": "redrive", "letter-9.9.9": "on"}),
        ("/dlq/evil.dlq/act", {"do": "redrive", "scope": "matching", "since": "yesterday"}),
        ("/dlq/evil.dlq/act", {}),
        ("/delays/later/cancel", {}),
        ("/delays/later/cancel", {"letter-0.999": "on"}),
        ("/delays/later/0/99/cancel", {}),
        ("/delays/later/0/0/reschedule", {"delay": "1h", "at": "2030-01-01"}),
        ("/schedules/nobody/pause", {}),
        ("/new-schedule", {"id": "x", "topic": "evil", "kind": "often"}),
        ("/new-schedule", {"id": "x", "topic": "evil", "kind": "every", "every": "1ms"}),
        ("/new-schedule", {"id": "x", "topic": "nowhere", "cron": "* * * * *"}),
        ("/new-schema", {"subject": "s", "type": "XML", "schema": "<a/>"}),
        ("/schemas/nobody/level", {"level": "FULL"}),
        ("/schemas", {"level": "HIGHEST"}),
        ("/schemas/nobody", {"schema": "{}", "do": "try"}),
        ("/transactions/999/abort", {"number": "999"}),
    ],
)
def test_what_cannot_be_is_refused_with_words_and_never_fails(server: Server, path: str, body: dict[str, str]) -> None:
    for partial in ({}, {"hx-request": "true"}):
        answer = httpx.post(
            f"http://{server.http}/console{path}", data=body, headers={"sec-fetch-site": "same-origin", **partial}
        )
        assert 400 <= answer.status_code < 500, answer.text
        assert 'class="problem"' in answer.text
