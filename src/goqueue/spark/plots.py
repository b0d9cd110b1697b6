"""Plots of reports: bars, lines and what happened over time, each from a few rows that Spark has worked out."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import cycle
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["bars", "columns", "lines", "over_time", "waterfall"]

WIDTH, HEIGHT = 9.0, 3.4
LONGEST_NAME = 48
COLORS = ("#0b857a", "#e08a1e", "#5b8bb8", "#b3261e", "#8e6bbf", "#a9b3bb", "#3b4a54")
"""Of the console, where they are the same by day and by night."""
QUIET = "#8a949e"

Series = Mapping[str, tuple[Sequence[Any], Sequence[float]]]
"""By name: where, and how much."""


def bars(names: Sequence[object], amounts: Sequence[float], *, label: str, logarithmic: bool = False) -> "Figure":
    """One bar for each name, the first on top."""
    figure, axes = _figure(max(1.6, 0.6 + 0.3 * len(names)))
    axes.barh(range(len(names)), list(amounts), color=COLORS[0], height=0.62)
    axes.set_yticks(range(len(names)), [_short(name) for name in names])
    axes.invert_yaxis()
    axes.set_xlabel(label)
    if logarithmic and any(amount > 0 for amount in amounts):
        axes.set_xscale("log")
    return figure


def columns(names: Sequence[object], series: Mapping[str, Sequence[float]], *, x_label: str, y_label: str) -> "Figure":
    """One column for each name, from left to right; what the series have there is stacked."""
    figure, axes = _figure(HEIGHT)
    below = [0.0] * len(names)
    for color, (name, amounts) in zip(cycle(COLORS), series.items(), strict=False):
        axes.bar(range(len(names)), list(amounts), bottom=below, color=color, width=0.72, label=_short(name))
        below = [under + amount for under, amount in zip(below, amounts, strict=True)]
    axes.set_xticks(range(len(names)), [_short(name) for name in names])
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    _legend(axes, series)
    return figure


def lines(series: Series, *, x_label: str, y_label: str, logarithmic: bool = False) -> "Figure":
    figure, axes = _figure(HEIGHT)
    for color, (name, (where, amounts)) in zip(cycle(COLORS), series.items(), strict=False):
        axes.plot(list(where), list(amounts), label=_short(name), marker=".", linewidth=1.4, color=color)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    if logarithmic and any(amount > 0 for _, amounts in series.values() for amount in amounts):
        axes.set_yscale("log")
    _legend(axes, series)
    return figure


def over_time(series: Series, *, width_s: float, label: str) -> "Figure":
    """Stacked: how many in each stretch of time, of each kind."""
    figure, axes = _figure(HEIGHT)
    below: dict[datetime, float] = {}
    for color, (name, (moments, amounts)) in zip(cycle(COLORS), series.items(), strict=False):
        at = list(moments)
        axes.bar(
            at,
            list(amounts),
            width=width_s / 86_400,
            bottom=[below.get(moment, 0.0) for moment in at],
            align="edge",
            label=_short(name),
            color=color,
        )
        for moment, amount in zip(at, amounts, strict=True):
            below[moment] = below.get(moment, 0.0) + amount
    axes.set_ylabel(label)
    figure.autofmt_xdate()
    _legend(axes, series)
    return figure


def waterfall(names: Sequence[str], starts: Sequence[float], lengths: Sequence[float], *, label: str) -> "Figure":
    """What came after what, and how long each took."""
    figure, axes = _figure(max(1.6, 0.6 + 0.3 * len(names)))
    axes.barh(range(len(names)), list(lengths), left=list(starts), color=COLORS[1], height=0.62)
    axes.set_yticks(range(len(names)), [_short(name) for name in names])
    axes.invert_yaxis()
    axes.set_xlabel(label)
    return figure


def _figure(height: float) -> "tuple[Figure, Axes]":
    """Not through pyplot, which keeps every figure that it makes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_subplot()
    axes.grid(visible=True, color=QUIET, alpha=0.3, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(QUIET)
    axes.tick_params(length=0)
    return figure, axes


def _legend(axes: "Axes", series: Mapping[str, object]) -> None:
    if len(series) > 1:
        axes.legend(fontsize="small", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _short(name: object) -> str:
    text = "".join(letter if letter.isprintable() else "·" for letter in str(name)[: LONGEST_NAME + 1])
    text = text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
    # A dollar would begin a formula.
    return text.replace("$", r"\$")
