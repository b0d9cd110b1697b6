"""Judgement of a page by axe, and of the size of what can be pressed on it."""

from pathlib import Path

from playwright.sync_api import Page

__all__ = ["problems_of", "small_targets"]

SOURCE = (Path(__file__).parent / "vendor" / "axe-4.14.0.min.js").read_text(encoding="utf-8")
OPTIONS = "{resultTypes: ['violations'], rules: {'target-size': {enabled: true}}}"
LEAST_TARGET = 24
"""Pixels, in both directions: WCAG 2.2, success criterion 2.5.8."""
PRESSED = "a[href], button, input:not([type=hidden]), select, textarea, summary"
TARGETS = """([pressed, least]) => [...document.querySelectorAll(pressed)]
    .filter(one => one.checkVisibility({checkVisibilityCSS: true}) && !one.closest("p, .skip"))
    .map(one => [one, one.getBoundingClientRect()])
    .filter(([, box]) => box.width > 1 && (box.width < least - 0.5 || box.height < least - 0.5))
    .map(([one, box]) => `${Math.round(box.width)} x ${Math.round(box.height)}: ${one.outerHTML.slice(0, 160)}`)"""
"""A link within a sentence is as high as its line: the criterion excepts it."""


def problems_of(page: Page) -> list[str]:
    """One line for each element that has one. Axe is handed in, as the page itself may load no such script."""
    page.evaluate(SOURCE + "\n;null")
    found = page.evaluate(f"axe.run(document, {OPTIONS})")
    return [
        f"{violation['impact']} {violation['id']}: {node['html'][:200]}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]


def small_targets(page: Page) -> list[str]:
    """What can be pressed and is smaller than 24 by 24 pixels."""
    return page.evaluate(TARGETS, [PRESSED, LEAST_TARGET])
