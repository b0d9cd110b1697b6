"""Page of a group: members and lag first, and whatever destroys something in a dialog behind a menu."""

from collections.abc import Iterator

import httpx
import pytest

from goqueue.client.sync import Admin, Consumer, Producer, Worker
from tests.behaviour.serving import Server
from tests.console.axe import problems_of, small_targets

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", autouse=True)
def shop(server: Server) -> Iterator[None]:
    with Admin(server.native) as admin, Producer(server.native) as producer:
        admin.create_topic("orders", 2)
        for number in range(40):
            producer.send("orders", b"order %d" % number, partition=number % 2)
    for group in ("fulfilment", "leaving"):
        with Worker("orders", group=group, bootstrap=server.native) as worker:
            worker.ack(*worker.take(limit=10, wait_ms=5000))
    with Consumer("orders", group="readers", bootstrap=server.native, start="earliest") as consumer:
        consumer.poll(wait_ms=5000)
        yield


def choose(page, item: str) -> None:
    page.locator("summary", has_text="Manage").click()
    page.get_by_role("button", name=item).click()


def test_members_and_lag_come_first_and_no_form_stands_open(open_page) -> None:
    page = open_page("/groups/readers")
    headings = page.locator("main h2:visible").all_inner_texts()
    assert headings[:2] == ["Members", "Lag by partition"]
    assert page.locator("main input:visible, main select:visible").count() == 0
    lag = page.locator("#members tbody td").nth(1).inner_text()
    assert lag.replace(",", "").isdecimal()


def test_the_menu_of_a_group_is_closed_with_escape(open_page) -> None:
    page = open_page("/groups/fulfilment")
    page.locator("summary", has_text="Manage").click()
    assert page.get_by_role("button", name="Delete group…").is_visible()
    page.keyboard.press("Escape")
    assert page.get_by_role("button", name="Delete group…").is_hidden()
    assert page.evaluate("document.activeElement.textContent") == "Manage"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("item", ["Reset offsets…", "Change policy…", "Delete group…"])
def test_axe_finds_nothing_in_the_dialogs(open_page, item: str, width: int) -> None:
    page = open_page("/groups/fulfilment", width=width)
    choose(page, item)
    page.wait_for_selector("dialog[open]")
    assert problems_of(page) == []
    assert small_targets(page) == []
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0


def test_a_reset_shows_what_it_changes_and_waits_for_a_second_word(open_page, server: Server) -> None:
    page = open_page("/groups/fulfilment")
    choose(page, "Reset offsets…")
    page.locator("#to").select_option("latest")
    page.get_by_role("button", name="Show what would change").click()
    page.wait_for_selector("text=Nothing is changed yet")
    assert lag(server, "fulfilment") == 30
    page.get_by_role("button", name="Reset offsets", exact=True).click()
    page.wait_for_selector(".notice")
    assert lag(server, "fulfilment") == 0


def test_a_group_is_not_deleted_until_its_name_is_typed(open_page, server: Server) -> None:
    page = open_page("/groups/leaving")
    page.watch.tolerate("400")
    choose(page, "Delete group…")
    page.locator("#delete input").fill("leavin")
    page.get_by_role("button", name="Delete group", exact=True).click()
    page.wait_for_selector("#delete[open] .problem")
    assert httpx.get(f"http://{server.http}/groups/leaving").status_code == 200
    page.locator("#delete input").fill("leaving")
    page.get_by_role("button", name="Delete group", exact=True).click()
    page.wait_for_url("**/console/groups?notice=group-deleted")
    assert httpx.get(f"http://{server.http}/groups/leaving").status_code == 404


def test_a_policy_that_is_refused_is_still_in_its_dialog(open_page) -> None:
    page = open_page("/groups/fulfilment")
    page.watch.tolerate("400")
    choose(page, "Change policy…")
    page.locator("#visibility").fill("soon")
    page.get_by_role("button", name="Save policy").click()
    page.wait_for_selector("#policy[open] .problem")
    assert page.locator("#visibility").input_value() == "soon"


def lag(server: Server, group: str) -> int:
    return httpx.get(f"http://{server.http}/groups/{group}").json()["lag"]
