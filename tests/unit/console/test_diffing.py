"""Two texts side by side."""

import pytest

from goqueue.gateways.console.diffing import compared, readable_text


def test_lines_that_went_came_and_changed_stand_beside_each_other() -> None:
    rows = compared("a\nb\nc\nd", "a\nB\nc\nd\ne")
    assert [(row.kind, row.left_number, row.left, row.right_number, row.right) for row in rows] == [
        ("same", 1, "a", 1, "a"),
        ("changed", 2, "b", 2, "B"),
        ("same", 3, "c", 3, "c"),
        ("same", 4, "d", 4, "d"),
        ("added", 0, "", 5, "e"),
    ]
    assert [row.kind for row in compared("a\nb", "a")] == ["same", "removed"]


def test_nothing_is_different_between_equal_texts() -> None:
    assert compared("a\nb", "a\nb") == []
    assert compared("", "") == []


def test_what_is_the_same_for_long_is_left_out() -> None:
    lines = [str(number) for number in range(100)]
    rows = compared("\n".join(lines), "\n".join([*lines[:50], "new", *lines[50:]]))
    assert [row.kind for row in rows] == ["gap", "same", "same", "same", "added", "same", "same", "same"]
    assert rows[4].right_number == 51


@pytest.mark.parametrize("lines", [1, 2, 5])
def test_every_line_of_both_texts_is_there_once_when_little_is_left_out(lines: int) -> None:
    old, new = [f"old {number}" for number in range(lines)], [f"new {number}" for number in range(lines + 2)]
    rows = compared("\n".join(old), "\n".join(new))
    assert [row.left for row in rows if row.left_number] == old
    assert [row.right for row in rows if row.right_number] == new


def test_json_is_read_in_lines_and_other_text_as_it_is() -> None:
    assert readable_text('{"a":{"b":1}}') == '{\n  "a": {\n    "b": 1\n  }\n}'
    assert readable_text("message A {\r\n}") == "message A {\n}"
    assert readable_text("[" * 100_000) == "[" * 100_000
