"""Pages that are made from code say what the code says now."""

import pytest

from goqueue.errors import ERRORS_BY_CODE
from goqueue.gateways.http.responses import STATUS_BY_CODE
from scripts.references import makers


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
    assert made >= {"settings.md", "errors.md", "http.md", "http-shapes.md", "metrics.md"}
