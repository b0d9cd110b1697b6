"""The pieces that dashboards are made of: panels of Grafana, laid out in rows, as JSON wants them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["Dashboard", "Panel", "Query", "bars", "chart", "dashboard", "number", "row"]

HEIGHT = 8
NUMBER_HEIGHT = 4
COLUMNS = 24
SOURCE = {"type": "prometheus", "uid": "${datasource}"}

Dashboard = dict[str, Any]


class Query(NamedTuple):
    """`$on` in an expression stands for the choice of brokers."""

    expr: str
    legend: str = ""


class Panel(NamedTuple):
    kind: str
    title: str
    text: str
    queries: Sequence[Query]
    unit: str
    width: int
    height: int
    fields: Mapping[str, Any] = {}
    options: Mapping[str, Any] = {}


def chart(
    title: str,
    *queries: Query | tuple[str, str],
    unit: str = "short",
    text: str = "",
    stacked: bool = False,
    width: int = 8,
) -> Panel:
    """One signal over time."""
    fields = {
        "custom": {
            "fillOpacity": 25 if stacked else 8,
            "lineWidth": 1,
            "showPoints": "never",
            "spanNulls": True,
            "stacking": {"mode": "normal" if stacked else "none"},
        },
        "min": 0,
    }
    options = {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi", "sort": "desc"}}
    return Panel("timeseries", title, text, [Query(*one) for one in queries], unit, width, HEIGHT, fields, options)


def number(
    title: str, expr: str, *, unit: str = "short", text: str = "", bad_from: float | None = None, width: int = 4
) -> Panel:
    """One figure as it is now, red from `bad_from` on."""
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if bad_from is not None:
        steps.append({"color": "red", "value": bad_from})
    fields = {"thresholds": {"mode": "absolute", "steps": steps}, "color": {"mode": "thresholds"}}
    options = {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "value", "graphMode": "area"}
    return Panel("stat", title, text, [Query(expr)], unit, width, NUMBER_HEIGHT, fields, options)


def bars(title: str, expr: str, legend: str, *, unit: str = "short", text: str = "", width: int = 8) -> Panel:
    """The largest, as they are now."""
    options = {"reduceOptions": {"calcs": ["lastNotNull"]}, "orientation": "horizontal", "displayMode": "gradient"}
    return Panel("bargauge", title, text, [Query(expr, legend)], unit, width, HEIGHT, {"min": 0}, options)


def row(title: str) -> Panel:
    return Panel("row", title, "", (), "", COLUMNS, 1)


def dashboard(
    uid: str, title: str, text: str, panels: Sequence[Panel], *, choices: Mapping[str, str] = {}
) -> Dashboard:
    """`choices` are further variables, by the expression that their values come from."""
    return {
        "uid": uid,
        "title": title,
        "description": text,
        "tags": ["goqueue"],
        "schemaVersion": 38,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "links": [
            {"type": "dashboards", "tags": ["goqueue"], "title": "GoQueue", "asDropdown": True, "keepTime": True}
        ],
        "templating": {
            "list": [_source_choice(), *_choices({"instance": "goqueue_broker_build_info"} | dict(choices))]
        },
        "panels": _laid_out(panels),
    }


def _source_choice() -> dict[str, Any]:
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}


def _choices(names: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "label": name.capitalize(),
            "type": "query",
            "datasource": SOURCE,
            "query": f"label_values({metric}, {name})",
            "refresh": 2,
            "sort": 1,
            "multi": True,
            "includeAll": True,
            "allValue": ".*",
            "current": {"text": "All", "value": "$__all"},
        }
        for name, metric in names.items()
    ]


def _laid_out(panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """From left to right, in lines that are as high as their highest panel."""
    placed: list[dict[str, Any]] = []
    x = y = line = 0
    for number_, panel in enumerate(panels, 1):
        if x + panel.width > COLUMNS:
            x, y, line = 0, y + line, 0
        placed.append(_json(number_, panel, {"x": x, "y": y, "w": panel.width, "h": panel.height}))
        x, line = x + panel.width, max(line, panel.height)
    return placed


def _json(number_: int, panel: Panel, place: Mapping[str, int]) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": number_, "type": panel.kind, "title": panel.title, "gridPos": dict(place)}
    if panel.kind == "row":
        return shown | {"collapsed": False, "panels": []}
    return shown | {
        "description": panel.text,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit, **panel.fields}, "overrides": []},
        "options": dict(panel.options),
        "targets": [
            {
                "refId": chr(ord("A") + step),
                "datasource": SOURCE,
                "expr": query.expr.replace("$on", 'instance=~"$instance"'),
                "legendFormat": query.legend or "__auto",
            }
            for step, query in enumerate(panel.queries)
        ],
    }
