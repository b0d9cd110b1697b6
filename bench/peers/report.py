"""What a run has found: kept as JSON, with every raw round, and told as tables on the terminal."""

import json
import statistics
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from bench.peers.ratios import LOWER, Ratio, ratios
from bench.peers.rounds import Sample, value_of
from bench.peers.targets import OURS, Target, struct_of

__all__ = ["document_of", "print_document", "save", "short"]

OUR_OTHERS = ("goqueue-ready", "goqueue-http", "goqueue-grpc")


def document_of(
    samples: Sequence[Sample],
    targets: Sequence[Target],
    *,
    machine: Mapping[str, Any],
    versions: Mapping[str, Any],
    about: Mapping[str, Any],
) -> dict[str, Any]:
    """All of it; the ratios of our other clients have names of their own."""
    found = ratios(samples, targets)
    for other in OUR_OTHERS:
        suffix = other.removeprefix(OURS).replace("-", "_")
        found |= {f"{name}{suffix}": one for name, one in ratios(samples, targets, ours=other).items()}
    return {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        **about,
        "machine": dict(machine),
        "versions": dict(versions),
        "targets": {one.name: struct_of(one) for one in targets},
        "ratios": {name: _ratio_fields(one) for name, one in found.items()},
        "figures": _figures(samples),
        "problems": [f"{one.workload}, {one.target}: {one.problem}" for one in samples if one.problem],
        "rounds": [msgspec.to_builtins(one) for one in samples],
    }


def _ratio_fields(one: Ratio) -> dict[str, Any]:
    fields = {name: _rounded(value) for name, value in msgspec.structs.asdict(one).items() if value is not None}
    return fields | ({} if one.holds is None else {"holds": one.holds})


def _figures(samples: Sequence[Sample]) -> dict[str, dict[str, dict[str, Any]]]:
    """Medians by workload, target and figure, with the lowest and the highest."""
    made: dict[str, dict[str, dict[str, Any]]] = {}
    for one in samples:
        for figure in one.figures:
            place = made.setdefault(one.workload, {}).setdefault(one.target, {})
            if figure not in place:
                values = value_of(samples, one.target, one.workload, figure)
                middle = statistics.median(values)
                place[figure] = [_rounded(value) for value in (middle, min(values), max(values))]
    return made


def _rounded(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value


def save(document: Mapping[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def short(value: float) -> str:
    for least, scale, suffix in ((1e6, 1e6, " M"), (1e4, 1e3, " K")):
        if abs(value) >= least:
            return f"{value / scale:.3g}{suffix}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


# On the terminal.


def print_document(document: Mapping[str, Any], console: Console) -> None:
    console.print(_figure_table(document))
    console.print(_ratio_table(document["ratios"]))
    for problem in document["problems"]:
        console.print(f"[red]{problem}")


def _figure_table(document: Mapping[str, Any]) -> Table:
    table = Table(title="medians: records/s; ms; MB; s", title_justify="left")
    table.add_column("workload")
    names = list(document["targets"])
    for name in names:
        table.add_column(name, justify="right")
    for workload, by_target in document["figures"].items():
        for figure in LOWER.get(workload, ("per_s",)):
            cells = [short(by_target[name][figure][0]) if figure in by_target.get(name, {}) else "" for name in names]
            table.add_row(workload if figure == "per_s" else f"{workload} {figure}", *cells)
    return table


def _ratio_table(found: Mapping[str, Mapping[str, Any]]) -> Table:
    table = Table(title="ours / best peer", title_justify="left")
    for column in ("what", "median", "lowest – highest", "best peer", "goal", ""):
        table.add_column(column, justify="right" if column in ("median", "lowest – highest") else "left")
    for name, one in found.items():
        if name.endswith(("_http", "_grpc")):
            continue
        sign = "≥" if one["better"] == "higher" else "≤"
        goal = f"{sign} {one['goal']:g}" if "goal" in one else ""
        verdict = {True: "[green]holds", False: "[red]missed"}.get(one.get("holds"), "")
        bounds = f"{one['lowest']:.2f} – {one['highest']:.2f}"
        table.add_row(name, f"{one['median']:.2f}", bounds, one["best_peer"], goal, verdict)
    return table
