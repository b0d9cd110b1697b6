"""Nothing that others wrote runs in the console, and nobody else can use it to change something."""

import re
from urllib.parse import quote

import httpx
import pytest

from goqueue.client.sync import Admin, Producer, Worker
from goqueue.gateways.console.pages import PARTS
from tests.behaviour.serving import Server
from tests.console.places import PLACES

pytestmark = pytest.mark.browser

SCRIPT = "<script>window.ran=1</script>"
ATTRIBUTE = "\"'><img src=x onerror=window.ran=1>"
TEMPLATE = "{{7*7}}${7*7}</textarea></pre></title>"
EVIL = ATTRIBUTE + SCRIPT + TEMPLATE


@pytest.fixture(scope="module", autouse=True)
def poison(server: Server) -> None:
    """The same words in every place where somebody else may write."""
    evil = EVIL.encode()
    with Admin(server.native) as admin, Producer(server.native) as producer:
        admin.create_topic("orders", 2)
        for _ in range(20):
            producer.send("orders", evil, key=evil, headers=((EVIL, evil),))
        for value in (evil, b'{"a": "' + SCRIPT.encode() + b'"}'):
            producer.send("orders", value, key=evil, headers=((EVIL, evil),), partition=0)
    with Worker("orders", group="fulfilment", bootstrap=server.native) as worker:
        jobs = worker.take(limit=10, wait_ms=5000)
        worker.reject(*jobs[:3], reason=EVIL)
        worker.nack(*jobs[3:5], reason=EVIL)
        worker.ack(*jobs[5:])
    post(
        server,
        "/groups/fulfilment/join",
        {"client_id": EVIL[:200], "instance_id": EVIL[:200], "topics": ["orders"], "session": "60s"},
    )


def post(server: Server, path: str, body: dict[str, object]) -> httpx.Response:
    answer = httpx.post(f"http://{server.http}{path}", json=body)
    assert answer.is_success, answer.text
    return answer


def check_nothing_ran(page) -> None:
    page.wait_for_load_state("load")
    page.wait_for_timeout(150)
    assert page.evaluate("window.ran") is None
    assert page.locator("img[src=x]").count() == 0


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_no_page_runs_what_records_members_and_errors_say(open_page, place) -> None:
    page = open_page(place.path)
    page.watch.tolerate("404")
    check_nothing_ran(page)


def test_a_record_is_shown_as_it_is_in_every_form(open_page) -> None:
    page = open_page("/topics/orders/records")
    page.locator("#records tbody a").first.click()
    page.wait_for_selector("#record .value")
    for form in ("JSON", "Text", "Hex", "Auto"):
        page.locator("#record .seg a", has_text=form).click()
        page.wait_for_selector(f"#record .seg a[aria-current]:has-text('{form}')")
        check_nothing_ran(page)
    assert SCRIPT in page.locator("#record .value").inner_text()


@pytest.mark.parametrize(
    "path",
    [
        "/topics?q={}",
        "/groups?q={}",
        "/search?q={}",
        "/topics/{}",
        "/groups/{}",
        "/topics/orders/records?at=key&key={}",
        "/topics/orders/records?at=time&time={}",
        "/topics/orders/records?before={}",
        "/topics/orders/records/0/{}",
        "/topics/orders/records/0/0?form={}",
        "/topics/orders/queue?group={}",
        "/topics?notice={}",
        "/{}",
    ],
)
def test_no_page_runs_what_its_address_says(open_page, path: str) -> None:
    page = open_page(path.format(quote(EVIL, safe="")))
    page.watch.tolerate("404", "400")
    check_nothing_ran(page)
    assert page.locator("h1").count() == 1


@pytest.mark.parametrize(
    ("path", "opened_by", "fields", "button"),
    [
        ("/new-topic", "", {"name": EVIL}, "Create topic"),
        ("/topics/orders/publish", "", {"key": EVIL, "value": EVIL, "headers": f"x: {EVIL}", "delay": EVIL}, "Publish"),
        ("/topics/orders/publish", "", {"value": EVIL, "headers": EVIL, "id": EVIL, "ttl": EVIL}, "Publish"),
        ("/topics/orders/settings", "", {"retention_ms": EVIL, "schema_subject": EVIL}, "Save settings"),
        ("/groups/fulfilment", "Change policy…", {"visibility": EVIL, "max_attempts": EVIL}, "Save policy"),
    ],
)
def test_no_form_runs_what_was_typed_into_it(
    open_page, path: str, opened_by: str, fields: dict[str, str], button: str
) -> None:
    page = open_page(path)
    page.watch.tolerate("400")
    if opened_by:
        page.locator("summary", has_text="Manage").click()
        page.get_by_role("button", name=opened_by).click()
    for name, text in fields.items():
        page.locator(f"[name={name}]").first.fill(text)
    page.get_by_role("button", name=button, exact=True).click()
    page.wait_for_selector(".problem")
    check_nothing_ran(page)


FILLED = {"topic": "orders", "group": "fulfilment"}
FIELDS = {"name": "orders", "value": "made elsewhere", "kind": "text", "to": "earliest", "do": "reset"}
CHANGES = sorted(
    re.sub(r"{(\w+)}", lambda found: FILLED.get(found[1], "0"), page.path)
    for part in PARTS
    for page in part.pages
    if page.method == "POST"
)


@pytest.mark.parametrize("path", CHANGES)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"origin": "null"},
        {"origin": "http://elsewhere.example"},
        {"origin": "http://elsewhere.example", "sec-fetch-site": "same-origin"},
    ],
    ids=str,
)
def test_a_change_that_another_page_asks_for_is_refused(server: Server, path: str, headers) -> None:
    answer = httpx.post(f"http://{server.http}/console{path}", data=FIELDS, headers=headers)
    assert answer.status_code == 403
    assert "nothing was changed" in answer.text


def test_a_form_of_another_page_cannot_publish(browser, server: Server) -> None:
    before = latest(server)
    context = browser.new_context()
    page = context.new_page()
    page.set_content(
        f"<form id=f method=post action='http://{server.http}/console/topics/orders/publish'>"
        "<input name=value value=stolen><input name=kind value=text></form>"
    )
    with page.expect_navigation():
        page.evaluate("document.getElementById('f').submit()")
    assert "nothing was changed" in page.content()
    assert latest(server) == before
    context.close()


def test_the_same_form_on_the_console_publishes(open_page, server: Server) -> None:
    before = latest(server)
    page = open_page("/topics/orders/publish")
    page.locator("[name=value]").fill('{"total": 12}')
    page.get_by_role("button", name="Publish", exact=True).click()
    page.wait_for_selector(".notice a")
    assert latest(server) == before + 1


def latest(server: Server) -> int:
    found = httpx.get(f"http://{server.http}/topics/orders").json()
    return sum(one["latest"] for one in found["partitions"])


def test_a_get_changes_nothing(server: Server) -> None:
    before = latest(server)
    for path in CHANGES:
        answer = httpx.get(f"http://{server.http}/console{path}", headers={"sec-fetch-site": "same-origin"})
        assert answer.status_code in (200, 404, 405)
    assert latest(server) == before
