"""Templates: everything they show is escaped, and a name that does not exist is an error and not an empty place."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from goqueue import __version__
from goqueue.gateways.console import figures
from goqueue.gateways.console.links import PREFIX, link
from goqueue.gateways.console.page import NavItem

__all__ = ["Renderer"]

FOLDER = Path(__file__).parent / "templates"


class Renderer:
    """Templates are compiled when they are first used, and kept."""

    def __init__(self, nav: Sequence[NavItem], assets_version: str) -> None:
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(FOLDER),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.globals |= {
            "link": link,
            "asset": lambda name: f"{PREFIX}/static/{assets_version}/{name}",
            "nav": _sections(nav),
            "version": __version__,
        }
        self._environment.filters |= {name: getattr(figures, name) for name in figures.__all__}

    def __call__(self, template: str, values: Mapping[str, Any]) -> str:
        return self._environment.get_template(template).render(values)


def _sections(nav: Sequence[NavItem]) -> list[tuple[str, list[NavItem]]]:
    sections: dict[str, list[NavItem]] = {}
    for item in nav:
        sections.setdefault(item.section, []).append(item)
    return list(sections.items())
