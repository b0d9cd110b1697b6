"""The settings that the broker runs with, and where each came from."""

from itertools import groupby

from goqueue.gateways.console.desk import SettingRow
from goqueue.gateways.console.page import Answer, Html, NavItem, Page, Part
from goqueue.gateways.console.visit import Visit

__all__ = ["PART"]


async def settings(visit: Visit) -> Answer:
    rows = visit.desk.settings
    changed = sum(1 for row in rows if row.origin)
    return Html("settings.html", {"sections": _sections(rows), "total": len(rows), "changed": changed})


def _sections(rows: tuple[SettingRow, ...]) -> list[tuple[str, list[SettingRow]]]:
    """By the first part of their names; those without one come first."""

    def section(row: SettingRow) -> str:
        return row.name.partition(".")[0] if "." in row.name else ""

    return [(name, list(some)) for name, some in groupby(sorted(rows, key=section), section)]


PART = Part(
    pages=(Page("GET", "/settings", settings),),
    nav=(NavItem("System", "Settings", "/settings", "settings", "s"),),
)
