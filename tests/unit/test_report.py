"""Pages of reports: what is given is shown, escaped, and the same in the file beside it."""

import json

import pytest

from goqueue.spark.report import Report


@pytest.fixture
def written(tmp_path):
    def write(report: Report) -> tuple[str, dict]:
        page = report.write(tmp_path, "day")
        return page.read_text(), json.loads((tmp_path / "day.json").read_text())

    return write


def test_tiles_facts_and_tables_are_shown_and_told(written):
    report = Report("A day", "with a lead")
    report.tiles({"Orders": 1964, "Turnover": "€ 5"})
    report.facts("The sale", {"announced": 100, "last": None})
    report.table("Checks", ("what", "count", "holds"), [("one", 12345, True), ("other", 0.25, False)])
    page, told = written(report)
    assert told == {
        "title": "A day",
        "lead": "with a lead",
        "summary": {"Orders": 1964, "Turnover": "€ 5"},
        "The sale": {"announced": 100, "last": None},
        "Checks": [
            {"what": "one", "count": 12345, "holds": True},
            {"what": "other", "count": 0.25, "holds": False},
        ],
    }
    for shown in ("<p>with a lead</p>", "1,964", "€ 5", "12,345", "0.25", "✓ yes", "✗ no"):
        assert shown in page
    assert '<th scope="col" class="number">count</th>' in page
    assert '<th scope="col">what</th>' in page


def test_what_is_shown_cannot_become_part_of_the_page(written):
    report = Report("<b>")
    report.note("before every heading <i>")
    report.facts("<u>", {"<s>": "<script>"})
    report.links("Pages", {"<em>": 'a"onclick="b'})
    page, _ = written(report)
    for word in ("b", "i", "u", "s", "script", "em"):
        assert f"<{word}>" not in page
    assert 'href="a&quot;onclick=&quot;b"' in page


def test_a_report_without_a_lead_tells_none(written):
    _, told = written(Report("Audit"))
    assert told == {"title": "Audit"}
