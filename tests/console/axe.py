"""Asks axe what is wrong with a page for those who cannot see it, or use no mouse."""

from pathlib import Path

from playwright.sync_api import Page

__all__ = ["serious_problems"]

SOURCE = (Path(__file__).parent / "vendor" / "axe-4.14.0.min.js").read_text(encoding="utf-8")
GRAVE = ("serious", "critical")


def serious_problems(page: Page) -> list[str]:
    """One line for each element that has one. Axe is handed in, as the page itself may load no such script."""
    page.evaluate(SOURCE + "\n;null")
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{violation['id']}: {node['html'][:200]}"
        for violation in found["violations"]
        if violation["impact"] in GRAVE
        for node in violation["nodes"]
    ]
