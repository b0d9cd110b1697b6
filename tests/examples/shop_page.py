"""What a person sees on a page of a report: the cells of its tables, its tiles, its headings, without the drawings."""

from html.parser import HTMLParser

__all__ = ["Page", "shown"]

CELLS = ("td", "th", "dt", "dd", "h1", "h2", "p", "a", "figcaption")


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.sections: list[tuple[str, list[str]]] = [("", [])]
        self.leads_to: list[str] = []
        self.asks_for: list[str] = []
        """Whatever it would load from elsewhere."""
        self._within: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = dict(attributes)
        if tag == "section":
            self.sections.append(("", []))
        if tag == "a":
            self.leads_to.append(named["href"] or "")
        self.asks_for += [named[name] or "" for name in ("src", "srcset") if name in named]
        if tag == "link":
            self.asks_for.append(named.get("href") or "")
        if tag in CELLS:
            self._within.append(tag)
            if tag != "h2":
                self.sections[-1][1].append("")

    def handle_endtag(self, tag: str) -> None:
        if self._within and self._within[-1] == tag:
            self._within.pop()

    def handle_data(self, data: str) -> None:
        if not self._within:
            return
        heading, cells = self.sections[-1]
        if self._within[-1] == "h2":
            self.sections[-1] = (heading + data, cells)
        else:
            cells[-1] += data

    def section(self, heading: str) -> list[str]:
        return next(cells for name, cells in self.sections if name == heading)


def shown(value: object) -> str:
    """How a page writes a value."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "✓ yes" if value else "✗ no"
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    return f"{value:,}" if isinstance(value, int) else str(value)
