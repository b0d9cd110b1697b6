"""A report that is one file: facts, tables and plots as HTML that needs nothing else, with its data beside it."""

import html
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Report"]

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .75rem; text-align: left; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 1rem 0; background: #fff; border: 1px solid var(--line); border-radius: 6px; padding: .5rem; }
figure svg { max-width: 100%; height: auto; }
figcaption { color: #555; font-size: .9rem; }
"""


class Report:
    """Gathers sections, then writes them: `NAME.html`, and `NAME.json` with the same facts and tables."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._parts: list[str] = []
        self._data: dict[str, Any] = {}

    def facts(self, heading: str, facts: Mapping[str, object]) -> None:
        self._data[heading] = dict(facts)
        rows = "".join(f"<tr><th>{_text(name)}</th>{_cell(value)}</tr>" for name, value in facts.items())
        self._parts.append(f"<h2>{_text(heading)}</h2><table>{rows}</table>")

    def table(self, heading: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        kept = [list(row) for row in rows]
        self._data[heading] = [dict(zip(columns, row, strict=True)) for row in kept]
        head = "".join(f"<th>{_text(name)}</th>" for name in columns)
        body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in kept)
        nothing = "" if kept else "<p>none</p>"
        self._parts.append(f"<h2>{_text(heading)}</h2><table><tr>{head}</tr>{body}</table>{nothing}")

    def note(self, text: str) -> None:
        self._parts.append(f"<p>{_text(text)}</p>")

    def plot(self, caption: str, figure: "Figure") -> None:
        """As a drawing inside the page."""
        drawn = io.StringIO()
        # Without a date the same data gives the same file.
        figure.savefig(drawn, format="svg", bbox_inches="tight", metadata={"Date": None})
        svg = drawn.getvalue()
        svg = svg[svg.index("<svg") :]
        self._parts.append(f"<figure>{svg}<figcaption>{_text(caption)}</figcaption></figure>")

    def write(self, folder: Path, name: str) -> Path:
        """The path of the page."""
        folder.mkdir(parents=True, exist_ok=True)
        page = folder / f"{name}.html"
        page.write_text(
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{_text(self._title)}</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<style>{STYLE}</style></head><body><h1>{_text(self._title)}</h1>{''.join(self._parts)}</body></html>\n"
        )
        encoded = msgspec.json.encode({"title": self._title, **self._data}, enc_hook=str)
        (folder / f"{name}.json").write_bytes(msgspec.json.format(encoded, indent=2) + b"\n")
        return page


def _text(value: object) -> str:
    return html.escape(str(value))


def _cell(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"<td>{_text('' if value is None else value)}</td>"
    shown = f"{value:,}" if isinstance(value, int) else f"{value:,.3f}".rstrip("0").rstrip(".")
    return f'<td class="number">{shown}</td>'
