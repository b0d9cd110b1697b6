"""Pages that are made from code say what the code says now."""

import re

import pytest

from goqueue import client, spark, testing
from goqueue.client import direct, sync
from goqueue.errors import ERRORS_BY_CODE
from goqueue.gateways.http.responses import STATUS_BY_CODE
from scripts import python_reference
from scripts.references import makers

CODE_BLOCK = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("maker", makers().values(), ids=makers().keys())
def test_a_page_made_from_code_is_not_stale(maker):
    assert maker.PAGE.read_text(encoding="utf-8") == maker.page(), "run `make references`"


def test_an_error_that_passes_by_itself_is_told_as_one_over_http():
    """Not now (503), or not in time (408); whoever looks at the status alone tries again as well."""
    passing = {name for name, kind in ERRORS_BY_CODE.items() if kind.is_passing}
    assert passing >= {"storage_busy", "disk_full", "broker_unreachable", "request_timeout", "buffer_full"}
    assert {STATUS_BY_CODE[name] for name in passing} == {503, 408}


def test_every_reference_that_can_be_made_is_made():
    made = {maker.PAGE.name for maker in makers().values()}
    assert made >= {"settings.md", "errors.md", "python.md", "http.md", "http-shapes.md", "metrics.md"}


def test_every_public_name_of_the_clients_is_in_the_reference():
    page = python_reference.page()
    for module in (client, sync, direct, spark, testing):
        assert [name for name in module.__all__ if f"\n### {name}\n" not in page] == [], module.__name__
    for kind in (sync.Admin, sync.Consumer, sync.Producer, sync.Worker):
        calls = [name for name in dir(kind) if not name.startswith("_")]
        assert [name for name in calls if f"\n#### {kind.__name__}.{name}\n" not in page] == []


def test_every_call_and_setting_of_the_clients_is_explained_in_the_reference():
    page = python_reference.page()
    clients = page[: page.index("\n## goqueue.spark\n")]
    sections = re.split(r"^#{3,4} ", CODE_BLOCK.sub("", clients), flags=re.MULTILINE)[1:]
    assert [section.partition("\n")[0] for section in sections if not section.partition("\n")[2].strip()] == []
    tables = re.findall(r"^\| Setting .*?\n\n", clients, flags=re.MULTILINE | re.DOTALL)
    assert len(tables) >= 8
    assert [row for table in tables for row in table.splitlines() if row.endswith("|  |")] == []
