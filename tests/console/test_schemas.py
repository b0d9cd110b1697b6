"""Schemas in the browser: what changed between versions, what a subject promises, and whether a new one would fit."""

import json

import httpx
import pytest

from goqueue.client.sync import Admin
from tests.behaviour.serving import Server, name_of

pytestmark = pytest.mark.browser


def avro(*fields: dict[str, object]) -> str:
    return json.dumps({"type": "record", "name": "Order", "fields": list(fields)})


NUMBER = {"name": "number", "type": "string"}
TOTAL = {"name": "total", "type": "double"}
CITY = {"name": "city", "type": "string", "default": "Graz"}
FIRST, SECOND = avro(NUMBER, TOTAL), avro(NUMBER, CITY)


@pytest.fixture
def subject(server: Server, request: pytest.FixtureRequest) -> str:
    name = name_of(request.node.nodeid)
    with Admin(server.native) as admin:
        admin.create_topic(name, 1)
    for schema in (FIRST, SECOND):
        answer = httpx.post(f"http://{server.http}/schemas/subjects/{name}/versions", json={"schema": schema})
        assert answer.is_success, answer.text
    return name


def test_what_came_and_what_went_between_two_versions_is_marked(open_page, subject: str) -> None:
    page = open_page("/schemas")
    page.get_by_role("link", name=subject).first.click()
    page.wait_for_selector("#diff")
    removed = " ".join(page.locator("#diff td.removed").all_inner_texts())
    added = " ".join(page.locator("#diff td.added").all_inner_texts())
    assert '"total"' in removed and '"total"' not in added
    assert '"city"' in added and '"Graz"' in added and '"city"' not in removed
    assert '"number"' not in removed + added
    assert subject in page.locator(".facts").inner_text(), "it does not say which topic uses it"

    page.locator("#version").select_option("1")
    page.locator("#against").select_option("2")
    page.get_by_role("button", name="Show").click()
    page.wait_for_selector("#diff:has-text('From version 2 to version 1')")
    assert '"total"' in " ".join(page.locator("#diff td.added").all_inner_texts())


def test_a_version_is_tried_refused_for_a_reason_and_registered_when_it_fits(
    open_page, server: Server, subject: str
) -> None:
    page = open_page(f"/schemas/{subject}")
    page.watch.tolerate("409", "400")
    page.locator("#schema").fill(avro(NUMBER, CITY, {"name": "must", "type": "int"}))
    page.get_by_role("button", name="Try it").click()
    page.wait_for_selector("#draft .problem")
    assert "must" in page.locator("#draft .problem").inner_text()
    page.get_by_role("button", name="Register").click()
    page.wait_for_selector("#draft .problem")
    assert versions(server, subject) == [1, 2]

    page.locator("#schema").fill(avro(NUMBER, CITY, {"name": "may", "type": "int", "default": 0}))
    page.get_by_role("button", name="Try it").click()
    page.wait_for_selector("#draft .notice:has-text('compatible')")
    assert versions(server, subject) == [1, 2]
    page.get_by_role("button", name="Register").click()
    page.wait_for_selector(".notice:has-text('registered')")
    assert versions(server, subject) == [1, 2, 3]


def versions(server: Server, subject: str) -> list[int]:
    return httpx.get(f"http://{server.http}/schemas/subjects/{subject}/versions").json()


def test_the_level_of_a_subject_is_set_and_taken_back(open_page, server: Server, subject: str) -> None:
    page = open_page(f"/schemas/{subject}")
    page.locator("#level").select_option("FULL_TRANSITIVE")
    page.get_by_role("button", name="Save").click()
    page.wait_for_selector(".notice")
    config = f"http://{server.http}/schemas/config/{subject}"
    assert httpx.get(config).json()["compatibilityLevel"] == "FULL_TRANSITIVE"
    page.locator("#level").select_option("(global)")
    page.get_by_role("button", name="Save").click()
    page.wait_for_selector(".facts:has-text('backward')")
    assert httpx.get(config).status_code == 404


def test_a_new_subject_is_registered_and_a_text_that_is_no_schema_is_not(open_page, server: Server) -> None:
    page = open_page("/new-schema")
    page.watch.tolerate("400")
    page.locator("#subject").fill("fresh")
    page.locator("#type").select_option("PROTOBUF")
    page.locator("#schema").fill("this is no schema")
    page.get_by_role("button", name="Register").click()
    page.wait_for_selector(".problem")
    assert page.locator("#schema").input_value() == "this is no schema"
    page.locator("#schema").fill('syntax = "proto3";\nmessage Fresh {\n  string id = 1;\n}\n')
    page.get_by_role("button", name="Register").click()
    page.wait_for_selector(".notice:has-text('registered')")
    assert versions(server, "fresh") == [1]
