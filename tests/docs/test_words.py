"""Words of the most-read pages: the terms of the field, and none of the phrases that read like a bad translation."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GUIDES = ("command-line", "dead-letters", "delays", "http", "python", "transactions")
PAGES = [
    ROOT / "README.md",
    *(DOCS / name for name in ("index.md", "comparison.md", "performance.md", "reference/python.md")),
    *sorted((DOCS / "concepts").glob("*.md")),
    *(DOCS / "guides" / f"{name}.md" for name in GUIDES),
]
BANNED = (
    *("whoever", "somebody", "nobody", "those who", "so long,? at most", "so many", "at hand", "spoken of", "fares?"),
    *("anew", "mend(?:s|ed)?", "stands", "whom", "thereof", "comes? again", "in the hands of"),
)
FOUND = re.compile(r"\b(?:" + "|".join(word.replace(" ", r"\s+") for word in BANNED) + r")\b", re.IGNORECASE)
LINKS = re.compile(r"\]\([^)]*\)")


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_a_page_is_written_in_plain_technical_english(page):
    text = LINKS.sub("]", page.read_text(encoding="utf-8"))
    lines = [(text.count("\n", 0, match.start()) + 1, match.group()) for match in FOUND.finditer(text)]
    assert lines == [], f"{page.name} uses words that the documentation avoids"
