"""Just enough of PromQL to say which metrics and labels an expression names."""

import re
from typing import NamedTuple

__all__ = ["Named", "named"]

TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
      | (?P<range>\[[^\]]*\])
      | (?P<name>[A-Za-z_:][A-Za-z0-9_:]*)
      | (?P<number>[0-9.]+(?:e[+-]?[0-9]+)?[smhdwy]?)
      | (?P<sign>=~|!~|!=|==|<=|>=|[-+*/%^<>=(){},])
    )""",
    re.VERBOSE,
)
OPERATORS = frozenset({"and", "or", "unless", "bool", "offset", "inf", "nan"})
GROUPING = frozenset({"by", "without", "on", "ignoring", "group_left", "group_right"})


class Named(NamedTuple):
    """Metrics with the labels they are chosen by, and labels that results are grouped or joined by."""

    metrics: dict[str, set[str]]
    grouped: set[str]


def named(expression: str) -> Named:
    """Fails at what is no PromQL, as far as it looks."""
    tokens = _tokens(expression)
    metrics: dict[str, set[str]] = {}
    grouped: set[str] = set()
    at = 0
    while at < len(tokens):
        kind, word = tokens[at]
        after = tokens[at + 1][1] if at + 1 < len(tokens) else ""
        if kind == "name" and word in GROUPING and after == "(":
            end = _closing(tokens, at + 1, ")")
            grouped.update(text for part, text in tokens[at + 2 : end] if part == "name")
            at = end
        elif kind == "name" and word not in OPERATORS | GROUPING and after != "(" and after not in GROUPING:
            labels = metrics.setdefault(word, set())
            if after == "{":
                end = _closing(tokens, at + 1, "}")
                labels.update(text for part, text in tokens[at + 2 : end] if part == "name")
                at = end
        at += 1
    return Named(metrics, grouped)


def _tokens(expression: str) -> list[tuple[str, str]]:
    found = []
    position, end = 0, len(expression.rstrip())
    while position < end:
        match = TOKEN.match(expression, position)
        assert match, f"no PromQL from here on: {expression[position:]!r}"
        assert match.lastgroup is not None
        found.append((match.lastgroup, match[match.lastgroup]))
        position = match.end()
    depth = 0
    for _, word in found:
        depth += (word in "({") - (word in ")}")
        assert depth >= 0, f"a bracket too many in {expression!r}"
    assert depth == 0, f"a bracket is missing in {expression!r}"
    return found


def _closing(tokens: list[tuple[str, str]], start: int, bracket: str) -> int:
    return next(at for at in range(start, len(tokens)) if tokens[at][1] == bracket)
