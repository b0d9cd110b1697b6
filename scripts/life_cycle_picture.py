"""Writes docs/images/life-cycle.svg: states as boxes, and the steps between them as arrows."""

from typing import NamedTuple

from goqueue.core.delivery.life_cycle import ENDS, STATES, TRANSITIONS, State
from scripts.life_cycle import OF_OPERATORS
from scripts.references import DOCS

__all__ = ["PAGE", "page"]

PAGE = DOCS / "images" / "life-cycle.svg"
WIDTH, HEIGHT = 860, 430
BOX_WIDTH, BOX_HEIGHT = 120, 44
CENTRES: dict[State, tuple[int, int]] = {
    "asleep": (170, 80),
    "waiting": (170, 215),
    "deferred": (170, 350),
    "leased": (450, 215),
    "resting": (450, 350),
    "settled": (740, 120),
    "dead": (740, 310),
}
BENDS: dict[tuple[State, State], int] = {
    ("waiting", "settled"): -88,
    ("asleep", "settled"): -64,
    ("resting", "settled"): 46,
    ("asleep", "deferred"): 92,
    ("waiting", "deferred"): 22,
    ("deferred", "waiting"): 22,
    ("leased", "resting"): 26,
    ("resting", "leased"): 26,
}
"""How far the middle of an arrow is from the straight line, to its right."""
STYLE = (
    "text{font:14px system-ui,sans-serif;fill:#1f2937;text-anchor:middle}"
    ".step{font-size:12px;fill:#1d4ed8;paint-order:stroke;stroke:#fff;stroke-width:4px}"
    ".box{fill:#eff6ff;stroke:#1d4ed8;stroke-width:1.5}.end{fill:#ecfdf5;stroke:#047857}"
    ".arrow{fill:none;stroke:#64748b;stroke-width:1.4;marker-end:url(#head)}"
)


class Point(NamedTuple):
    x: float
    y: float


def page() -> str:
    arrows: dict[tuple[State, State], list[str]] = {}
    for (state, step), after in TRANSITIONS.items():
        if step not in OF_OPERATORS:
            arrows.setdefault((state, after), []).append(step)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        "<title>The life of a record in a queue</title>",
        f"<style>{STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#64748b"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
    ]
    drawn = [_arrow(CENTRES[a], CENTRES[b], BENDS.get((a, b), 0), ", ".join(steps)) for (a, b), steps in arrows.items()]
    parts += [line for line, _ in drawn]
    parts += map(_box, STATES)
    parts += [label for _, label in drawn]
    return "\n".join([*parts, "</svg>", ""])


def _box(state: State) -> str:
    x, y = CENTRES[state]
    kind = "box end" if state in ENDS else "box"
    return (
        f'<rect class="{kind}" x="{x - BOX_WIDTH / 2:.0f}" y="{y - BOX_HEIGHT / 2:.0f}" width="{BOX_WIDTH}" '
        f'height="{BOX_HEIGHT}" rx="8"/><text x="{x}" y="{y + 5}">{state}</text>'
    )


def _arrow(start: tuple[int, int], end: tuple[int, int], bend: int, words: str) -> tuple[str, str]:
    a, b = Point(*start), Point(*end)
    if a == b:
        top = a.y - BOX_HEIGHT / 2
        left, right = f"{a.x - 45:.0f},{top - 55:.0f}", f"{a.x + 45:.0f},{top - 55:.0f}"
        path = f"M{a.x - 25:.0f},{top:.0f} C{left} {right} {a.x + 25:.0f},{top:.0f}"
        return _path(path), _label(Point(a.x, top - 46), words)
    length = ((b.x - a.x) ** 2 + (b.y - a.y) ** 2) ** 0.5
    aside = Point(-(b.y - a.y) / length * bend, (b.x - a.x) / length * bend)
    control = Point((a.x + b.x) / 2 + 2 * aside.x, (a.y + b.y) / 2 + 2 * aside.y)
    begin, finish = _edge(a, control), _edge(b, control)
    middle = Point(
        (begin.x + 2 * control.x + finish.x) / 4,
        (begin.y + 2 * control.y + finish.y) / 4,
    )
    path = f"M{begin.x:.0f},{begin.y:.0f} Q{control.x:.0f},{control.y:.0f} {finish.x:.0f},{finish.y:.0f}"
    return _path(path), _label(middle, words)


def _edge(centre: Point, towards: Point) -> Point:
    """Where the line to a point leaves the box."""
    dx, dy = towards.x - centre.x, towards.y - centre.y
    share = min(
        BOX_WIDTH / 2 / abs(dx) if dx else float("inf"),
        BOX_HEIGHT / 2 / abs(dy) if dy else float("inf"),
    )
    return Point(centre.x + dx * share, centre.y + dy * share)


def _path(shape: str) -> str:
    return f'<path class="arrow" d="{shape}"/>'


def _label(at: Point, words: str) -> str:
    return f'<text class="step" x="{at.x:.0f}" y="{at.y + 4:.0f}">{words.replace("_", " ")}</text>'
