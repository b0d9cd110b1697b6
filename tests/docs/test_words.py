"""Words of the most-read pages and of packages: terms of the field, no phrases that read like a bad translation."""

import ast
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GUIDES = ("command-line", "dead-letters", "delays", "http", "python", "transactions")
PAGES = [
    ROOT / "README.md",
    *(
        DOCS / name
        for name in (
            "index.md",
            "glossary.md",
            "architecture.md",
            "comparison.md",
            "performance.md",
            "reference/python.md",
        )
    ),
    *sorted((DOCS / "concepts").glob("*.md")),
    *(DOCS / "guides" / f"{name}.md" for name in GUIDES),
]
BANNED = (
    *("whoever", "somebody", "nobody", "those who", "so long,? at most", "so many", "at hand", "spoken of", "fares?"),
    *("anew", "mend(?:s|ed)?", "stands", "whom", "thereof", "comes? again", "in the hands of"),
)
FOUND = re.compile(r"\b(?:" + "|".join(word.replace(" ", r"\s+") for word in BANNED) + r")\b", re.IGNORECASE)
PACKAGES = ("adapters", "app", "codec", "core", "engine", "model", "offline", "testing")
"""Those that are written in these words; the others follow."""
ASKING = re.compile(r"(What|Which|How|Where|Those|Whoever)\b")
LINKS = re.compile(r"\]\([^)]*\)")


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_a_page_is_written_in_plain_technical_english(page):
    text = LINKS.sub("]", page.read_text(encoding="utf-8"))
    lines = [(text.count("\n", 0, match.start()) + 1, match.group()) for match in FOUND.finditer(text)]
    assert lines == [], f"{page.name} uses words that the documentation avoids"


def prose_of(path: Path) -> list[tuple[int, str]]:
    """Comments, docstrings and other strings of a module, with their lines."""
    with path.open("rb") as source:
        tokens = list(tokenize.tokenize(source.readline))
    return [(token.start[0], token.string) for token in tokens if token.type in (tokenize.COMMENT, tokenize.STRING)]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_is_written_in_plain_technical_english(package):
    found = []
    for path in sorted((ROOT / "src" / "goqueue" / package).rglob("*.py")):
        found += [(path.name, line, word) for line, text in prose_of(path) for word in FOUND.findall(text)]
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        if ASKING.match(docstring):
            found.append((path.name, 1, docstring.partition("\n")[0]))
    assert found == []


def test_a_term_of_the_glossary_is_explained_once():
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", (DOCS / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
    terms = [term for row in rows if row != "Term" for term in row.split(", ")]
    assert len(terms) > 50
    assert [term for term in terms if terms.count(term) > 1] == []
