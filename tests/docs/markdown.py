"""What a page of the documentation has to run: its blocks of code, with the marks beside them.

A block in `python` or `sh` is run as printed, in the order of the page, and nothing else is: a reader who types what
the page shows gets what it says. Marks are comments on the lines right before a block:

- `<!-- not run: REASON -->`
- `<!-- given: FOLDER TOPIC -->`: the page says that there is a data folder of a broker that was stopped; or
  `<!-- given: data/traces -->`: span files
- `<!-- until: … -->`: it would go on for ever, and is interrupted when it has printed this, or, of Python, when this
  expression is true
- `<!-- exits: 1 -->`: how a command ends, if not with 0
- `<!-- prints: … -->`: what it prints, among other things

and right behind it `<!-- after: sh …code… -->`, `<!-- after: python …code… -->`: what has to hold then. It
is a check, and nothing that follows may depend on it.

`<!-- spark -->` at the top of a page says that it needs Spark.
"""

import re
from pathlib import Path
from typing import NamedTuple

__all__ = ["RUN", "Block", "Mark", "blocks_of", "needs_spark"]

RUN = ("python", "sh")
KNOWN_MARKS = ("not run", "given", "after", "until", "exits", "prints")
LANGUAGES = (*RUN, "text", "toml", "json", "yaml", "promql", "proto", "sql")
_PART = re.compile(
    r"^```(?P<language>[a-z]*)(?P<info>[^\n]*)\n(?P<code>.*?)^```$|^<!--\s*(?P<mark>.*?)\s*-->$",
    re.DOTALL | re.MULTILINE,
)


class Mark(NamedTuple):
    name: str
    text: str


class Block(NamedTuple):
    page: Path
    line: int
    language: str
    text: str
    marks: tuple[Mark, ...]

    @property
    def place(self) -> str:
        return f"{self.page.name}:{self.line}"

    @property
    def is_run(self) -> bool:
        return self.language in RUN and self.mark("not run") is None

    def mark(self, name: str) -> str | None:
        return next((mark.text for mark in self.marks if mark.name == name), None)

    def all(self, name: str) -> list[str]:
        return [mark.text for mark in self.marks if mark.name == name]


def blocks_of(page: Path) -> list[Block]:
    """A mark belongs to the block right beside it; one that stands alone is a mistake."""
    text = page.read_text(encoding="utf-8")
    found: list[Block] = []
    marks: list[Mark] = []
    expected = 0
    for part in _PART.finditer(text):
        between = text[expected : part.start()].strip()
        place = f"{page.name}:{text.count(chr(10), 0, part.start()) + 1}"
        assert not (marks and between), f"{place}: there is text between a mark and its block"
        expected = part.end()
        if part["mark"] is not None:
            name, colon, rest = part["mark"].partition(":")
            if part["mark"] == "spark" or part["mark"].startswith("Written by"):
                continue
            assert colon and name in KNOWN_MARKS, f"{place}: {name!r} is no mark; there are {', '.join(KNOWN_MARKS)}"
            mark = Mark(name, rest.strip())
            if name == "after":
                assert found and not marks and not between, f"{place}: what has to hold stands right behind its block"
                found[-1] = found[-1]._replace(marks=(*found[-1].marks, mark))
            else:
                marks.append(mark)
            continue
        language = part["language"]
        assert language in LANGUAGES, f"{place}: a block in {language!r}; there are {', '.join(LANGUAGES)}"
        line = text.count("\n", 0, part.start()) + 1
        found.append(Block(page, line, language, part["code"], tuple(marks)))
        marks = []
    assert not marks, f"{page.name}: a mark without a block"
    return found


def needs_spark(page: Path) -> bool:
    return "<!-- spark -->" in page.read_text(encoding="utf-8")
