"""A report that is one file: facts, tables and plots as HTML that needs nothing else, with its data beside it."""

import html
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from warnings import catch_warnings, simplefilter

import msgspec

from goqueue.spark.report_style import STYLE

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure
    from pyspark.sql import DataFrame

__all__ = ["MOST_ROWS", "Report"]

MOST_ROWS = 1000
"""Of a table: a page is for people."""
_NUMBER = ' class="number"'
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)


class _Section(NamedTuple):
    heading: str
    kind: str
    parts: list[str]

    def html(self) -> str:
        heading = f"<h2>{_text(self.heading)}</h2>" if self.heading else ""
        return f'<section class="{self.kind}">{heading}{"".join(self.parts)}</section>'


class Report:
    """Gathers sections, then writes them: `NAME.html`, `NAME.json` with the same facts and tables, and Parquet."""

    def __init__(self, title: str, lead: str = "") -> None:
        self._title = title
        self._lead = lead
        self._sections: list[_Section] = []
        self._data: dict[str, Any] = {}
        self._tables: dict[str, pa.Table] = {}

    def facts(self, heading: str, facts: Mapping[str, object], *, beside: bool = False) -> None:
        """With `beside`, what is drawn of them stands at their side."""
        self._data[heading] = dict(facts)
        rows = "".join(f'<tr><th scope="row">{_text(name)}</th>{_cell(value)}</tr>' for name, value in facts.items())
        self._begin(heading, f'<table class="facts">{rows}</table>', "pair" if beside else "")

    def tiles(self, facts: Mapping[str, object]) -> None:
        """The few figures that matter most, large and without a heading; in the data they are the `summary`."""
        self._data["summary"] = dict(facts)
        shown = "".join(f"<div><dt>{_text(name)}</dt><dd>{_shown(value)}</dd></div>" for name, value in facts.items())
        self._begin("", f"<dl>{shown}</dl>", "tiles")

    def table(
        self, heading: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, beside: bool = False
    ) -> None:
        kept = [list(row) for row in rows]
        self._data[heading] = [dict(zip(columns, row, strict=True)) for row in kept]
        numeric = [any(_is_number(row[at]) for row in kept) for at in range(len(columns))]
        head = "".join(
            f'<th scope="col"{_NUMBER if is_number else ""}>{_text(name)}</th>'
            for name, is_number in zip(columns, numeric, strict=True)
        )
        body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in kept)
        nothing = "" if kept else "<p>none</p>"
        self._begin(heading, f"<table><tr>{head}</tr>{body}</table>{nothing}", "pair" if beside else "")

    def links(self, heading: str, pages: Mapping[str, str]) -> None:
        """To other pages, by what is to be read there; paths are relative to this one."""
        items = "".join(
            f'<li><a href="{html.escape(path, quote=True)}">{_text(name)}</a></li>' for name, path in pages.items()
        )
        self._begin(heading, f"<ul>{items}</ul>")

    def _begin(self, heading: str, content: str, kind: str = "") -> None:
        self._sections.append(_Section(heading, kind, [f'<div class="scroll">{content}</div>']))

    def _add(self, content: str) -> None:
        """To the section that is there; what comes before all headings has one of its own."""
        if not self._sections:
            self._sections.append(_Section("", "", []))
        self._sections[-1].parts.append(content)

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
        self._add(f"<p>{_text(text)}</p>")

    def plot(self, caption: str, figure: "Figure") -> None:
        """As a drawing inside the page."""
        import matplotlib as mpl

        drawn = io.StringIO()
        # Without a date, and with names that are not random, the same data gives the same file.
        with (
            mpl.rc_context({"svg.hashsalt": f"{len(self._sections)} {caption}", "svg.fonttype": "none"}),
            catch_warnings(),
        ):
            # Of letters that its own font lacks: the browser draws them with one that has them.
            simplefilter("ignore", UserWarning)
            figure.savefig(drawn, format="svg", bbox_inches="tight", transparent=True, metadata={"Date": None})
        svg = drawn.getvalue()
        svg = _METADATA.sub("", svg[svg.index("<svg") :])
        self._add(f"<figure><figcaption>{_text(caption)}</figcaption>{svg}</figure>")

    def write(self, folder: Path, name: str) -> Path:
        """The path of the page; tables of Spark are beside it, as `NAME-HEADING.parquet`."""
        folder.mkdir(parents=True, exist_ok=True)
        for heading, table in self._tables.items():
            _write_parquet(table, folder / f"{name}-{_file_name(heading)}.parquet")
        page = folder / f"{name}.html"
        lead = f"<p>{_text(self._lead)}</p>" if self._lead else ""
        page.write_text(
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{_text(self._title)}</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<style>{STYLE}</style></head><body><header><h1>{_text(self._title)}</h1>{lead}</header>"
            f"<main>{''.join(one.html() for one in self._sections)}</main></body></html>\n",
            encoding="utf-8",
        )
        told = {"title": self._title, **({"lead": self._lead} if self._lead else {}), **self._data}
        encoded = msgspec.json.encode(told, enc_hook=str)
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
    return f"<td{_NUMBER if _is_number(value) else ''}>{_shown(value)}</td>"


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return '<span class="good">✓ yes</span>' if value else '<span class="bad">✗ no</span>'
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    return f"{value:,}" if isinstance(value, int) else _text(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
