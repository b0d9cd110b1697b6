"""A report that is one file: facts, tables and plots as HTML that needs nothing else, with its data beside it."""

import html
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter

import msgspec

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure
    from pyspark.sql import DataFrame

__all__ = ["MOST_ROWS", "Report"]

MOST_ROWS = 1000
"""Of a table: a page is for people."""
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)

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
    """Gathers sections, then writes them: `NAME.html`, `NAME.json` with the same facts and tables, and Parquet."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._parts: list[str] = []
        self._data: dict[str, Any] = {}
        self._tables: dict[str, pa.Table] = {}

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

    def frame(self, heading: str, frame: "DataFrame", *, most: int = MOST_ROWS) -> list[dict[str, Any]]:
        """The first rows of what Spark has worked out; they are also a file of Parquet, and given back for plots."""
        found = frame.limit(most).toArrow()
        rows: list[dict[str, Any]] = found.to_pylist()
        self._tables[heading] = found
        self.table(heading, found.column_names, (list(row.values()) for row in rows))
        if len(rows) == most:
            self.note(f"the first {most:,}; there may be more")
        return rows

    def note(self, text: str) -> None:
        self._parts.append(f"<p>{_text(text)}</p>")

    def plot(self, caption: str, figure: "Figure") -> None:
        """As a drawing inside the page."""
        import matplotlib as mpl

        drawn = io.StringIO()
        # Without a date, and with names that are not random, the same data gives the same file.
        with (
            mpl.rc_context({"svg.hashsalt": f"{len(self._parts)} {caption}", "svg.fonttype": "none"}),
            catch_warnings(),
        ):
            # Of letters that its own font lacks: the browser draws them with one that has them.
            simplefilter("ignore", UserWarning)
            figure.savefig(drawn, format="svg", bbox_inches="tight", metadata={"Date": None})
        svg = drawn.getvalue()
        svg = _METADATA.sub("", svg[svg.index("<svg") :])
        self._parts.append(f"<figure>{svg}<figcaption>{_text(caption)}</figcaption></figure>")

    def write(self, folder: Path, name: str) -> Path:
        """The path of the page; tables of Spark are beside it, as `NAME-HEADING.parquet`."""
        folder.mkdir(parents=True, exist_ok=True)
        for heading, table in self._tables.items():
            _write_parquet(table, folder / f"{name}-{_file_name(heading)}.parquet")
        page = folder / f"{name}.html"
        page.write_text(
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{_text(self._title)}</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<style>{STYLE}</style></head><body><h1>{_text(self._title)}</h1>{''.join(self._parts)}</body></html>\n",
            encoding="utf-8",
        )
        encoded = msgspec.json.encode({"title": self._title, **self._data}, enc_hook=str)
        (folder / f"{name}.json").write_bytes(msgspec.json.format(encoded, indent=2) + b"\n")
        return page


def _write_parquet(table: "pa.Table", path: Path) -> None:
    from pyarrow import parquet

    parquet.write_table(table, path)


def _file_name(heading: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", heading.lower()))


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    if isinstance(value, list):
        return html.escape(", ".join(map(str, value)))
    return html.escape(str(value))


def _cell(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"<td>{_text('' if value is None else value)}</td>"
    shown = f"{value:,}" if isinstance(value, int) else f"{value:,.3f}".rstrip("0").rstrip(".")
    return f'<td class="number">{shown}</td>'
