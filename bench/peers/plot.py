"""The figures of a run as one picture: what is confirmed after a sync, what by default, queues, and waiting times."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["draw"]

COLORS = {
    "goqueue": "#0f766e",
    "goqueue-ready": "#14b8a6",
    "goqueue-http": "#5eead4",
    "goqueue-grpc": "#99f6e4",
    "redis-safe": "#dc2626",
    "redis-default": "#dc2626",
    "nats-safe": "#2563eb",
    "nats-default": "#2563eb",
    "rabbitmq-quorum": "#f59e0b",
    "rabbitmq-stream": "#b45309",
}
INK, FAINT = "#1f2937", "#e5e7eb"
BATCHES = {"1": "batch1_conn16", "10": "batch10_conn16", "100": "batch100_conn16", "1000": "batch1000_conn16"}
QUEUES = {
    "publish,\ntake, acknowledge": "queue_cycle",
    "take and acknowledge\na backlog": "backlog",
    "fan-out\nto 4 groups": "fanout4",
}
WAITS = {"p50": "p50_ms", "p99": "p99_ms", "p99.9": "p999_ms"}

Value = Callable[[str, str], Sequence[float] | None]


def draw(document: Mapping[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    settings = {
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "axes.edgecolor": FAINT,
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "text.color": INK,
    }
    with pyplot.rc_context(settings):
        figure, axes = pyplot.subplots(2, 2, figsize=(13, 8.6), layout="constrained")
        rates = _figure_of(document, "per_s")
        waits: Value = lambda target, figure: _cell(document, "latency_1k", target, figure)  # noqa: E731
        of = lambda promise: _targets(document, promise)  # noqa: E731
        title = "{}: records/s by batch size, 100 B, 16 connections"
        _bars(axes[0][0], title.format("Synced before confirmed"), BATCHES, of("durable"), rates)
        _bars(axes[0][1], title.format("As each broker comes"), BATCHES, of("default"), rates)
        _bars(axes[1][0], "Queue, synced before confirmed: records/s", QUEUES, of("durable"), rates)
        _bars(axes[1][1], "Publish at 1 K/s, synced before confirmed: ms (less is better)", WAITS, of("durable"), waits)
        _legend(figure, axes.flat)
        machine = document["machine"]
        figure.suptitle(
            f"GoQueue and its peers on one machine: {machine['cores']} cores, {machine['cpu']}, Python clients; "
            "bars are medians, whiskers the lowest and highest round",
            fontsize=10,
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=110)
        pyplot.close(figure)


def _targets(document: Mapping[str, Any], promise: str) -> dict[str, str]:
    return {name: one["label"] for name, one in document["targets"].items() if promise in one["promises"]}


def _figure_of(document: Mapping[str, Any], figure: str) -> Value:
    return lambda target, workload: _cell(document, workload, target, figure)


def _cell(document: Mapping[str, Any], workload: str, target: str, figure: str) -> Sequence[float] | None:
    found: Sequence[float] | None = document["figures"].get(workload, {}).get(target, {}).get(figure)
    return found


def _bars(axes: Any, title: str, places: Mapping[str, str], targets: Mapping[str, str], value: Value) -> None:
    """A group of bars for each place, and a bar in it for each target; logarithmic, as batches are worlds apart."""
    places = {label: key for label, key in places.items() if any(value(name, key) for name in targets)}
    shown = {name: label for name, label in targets.items() if any(value(name, one) for one in places.values())}
    width = 0.84 / max(1, len(shown))
    for number, (name, label) in enumerate(shown.items()):
        at, heights, below, above, texts = [], [], [], [], []
        for place, key in enumerate(places.values()):
            if (cell := value(name, key)) is not None:
                middle, low, high = cell
                at.append(place + (number - (len(shown) - 1) / 2) * width)
                heights.append(middle)
                below.append(middle - low)
                above.append(high - middle)
                texts.append(_short(middle))
        whiskers = {"ecolor": "#6b7280", "elinewidth": 0.8}
        color = COLORS.get(name, "#6b7280")
        axes.bar(at, heights, width * 0.94, color=color, label=label, yerr=(below, above), error_kw=whiskers)
        for x, top, text in zip(at, map(sum, zip(heights, above, strict=True)), texts, strict=True):
            axes.annotate(text, (x, top), (0, 4), textcoords="offset points", ha="center", fontsize=7, rotation=90)
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * 2.5)
    axes.set_xticks(range(len(places)), list(places))
    axes.set_title(title, fontsize=10, loc="left")
    axes.grid(axis="y", color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _legend(figure: Any, axes: Iterable[Any]) -> None:
    """One for all: a broker has the same colour in each of its settings."""
    entries: dict[str, Any] = {}
    for one in axes:
        for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
            entries.setdefault(label.removesuffix(", always synced"), handle)
    figure.legend(
        entries.values(), entries.keys(), loc="outside lower center", ncols=len(entries), frameon=False, fontsize=9
    )


def _short(value: float) -> str:
    for least, suffix in ((1e6, "M"), (1e3, "K")):
        if value >= least:
            return f"{value / least:.3g} {suffix}"
    return f"{value:.2g}"
