"""Pages that are made from code: what the scripts for them share, and how all pages are written.

A module of this folder that has `PAGE`, the path of a file, and `page()`, its text, makes one of them.
"""

import html
import importlib
import pkgutil
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType

__all__ = ["DOCS", "cell", "code", "main", "makers", "one_line", "table"]

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
CODE_WITH_BAR = re.compile(r"`([^`]*\|[^`]*)`")


def makers() -> dict[str, ModuleType]:
    """Every module that makes a page, by its name."""
    names = [found.name for found in pkgutil.iter_modules([str(HERE)])]
    modules = {name: importlib.import_module(f"scripts.{name}") for name in names}
    return {name: module for name, module in modules.items() if hasattr(module, "PAGE") and hasattr(module, "page")}


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table, and an empty one behind it."""
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    lines += ["| " + " | ".join(map(cell, row)) + " |" for row in rows]
    return [*lines, ""]


def cell(text: str) -> str:
    """In a table a line must stay one line, and a bar would end its cell."""
    return CODE_WITH_BAR.sub(_without_bar, one_line(text)).replace("|", "\\|")


def _without_bar(match: re.Match[str]) -> str:
    """Readers of Markdown do not agree whether a bar in code needs a backslash, and whether they show it."""
    return f"<code>{html.escape(match[1], quote=False).replace('|', '&#124;')}</code>"


def one_line(text: str) -> str:
    return " ".join(text.split())


def code(text: object) -> str:
    return f"`{text}`"


def main() -> None:
    for name, module in makers().items():
        before = module.PAGE.read_text(encoding="utf-8") if module.PAGE.exists() else None
        text = module.page()
        module.PAGE.write_text(text, encoding="utf-8")
        print(f"{name:22} {module.PAGE.relative_to(HERE.parent)}{'' if text == before else '  (changed)'}")


if __name__ == "__main__":
    main()
