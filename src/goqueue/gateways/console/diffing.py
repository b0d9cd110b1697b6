"""Two texts side by side: which lines went, which came, which stayed."""

import difflib
import json
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

__all__ = ["MOST_LINES", "DiffRow", "compared", "readable_text"]

MOST_LINES = 3000
"""That are compared: it takes longer than the texts are long."""
CONTEXT = 3


class DiffRow(NamedTuple):
    """`kind` is same, removed, added, changed or gap; numbers are those of lines, 0 where there is none."""

    kind: str
    left_number: int = 0
    left: str = ""
    right_number: int = 0
    right: str = ""


def readable_text(text: str) -> str:
    """JSON is kept in one line and read in many."""
    try:
        json.loads(text)
        return msgspec.json.format(text, indent=2)
    except (ValueError, RecursionError):
        return text.replace("\r\n", "\n")


def compared(left: str, right: str) -> list[DiffRow]:
    """With a few lines around what is different; empty when nothing is."""
    old, new = left.splitlines()[:MOST_LINES], right.splitlines()[:MOST_LINES]
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=len(old) + len(new) > 1000)
    rows: list[DiffRow] = []
    for number, group in enumerate(matcher.get_grouped_opcodes(CONTEXT)):
        if number or group[0][1] or group[0][3]:
            rows.append(DiffRow("gap"))
        for tag, i1, i2, j1, j2 in group:
            rows += _rows(tag, i1, old[i1:i2], j1, new[j1:j2])
    return rows


def _rows(tag: str, first_old: int, old: Sequence[str], first_new: int, new: Sequence[str]) -> list[DiffRow]:
    rows = []
    for step in range(max(len(old), len(new))):
        has_old, has_new = step < len(old), step < len(new)
        kind = "same" if tag == "equal" else "changed" if has_old and has_new else "removed" if has_old else "added"
        rows.append(
            DiffRow(
                kind,
                first_old + step + 1 if has_old else 0,
                old[step] if has_old else "",
                first_new + step + 1 if has_new else 0,
                new[step] if has_new else "",
            )
        )
    return rows
