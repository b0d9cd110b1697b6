"""Figures as people read them: counts, sizes, lengths of time, instants."""

from datetime import UTC, datetime, timedelta

__all__ = ["ago", "compact", "count", "iso", "moment", "rate", "share", "size", "span"]

NS_PER_S = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"))


def count(number: int) -> str:
    """1,234,567"""
    return f"{number:,}"


def compact(number: float) -> str:
    """Three digits at most: 950, 12.4k, 3.1M."""
    for unit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= unit * 0.9995:
            return f"{number / unit:.3g}{suffix}" if abs(number) < unit * 999.5 else f"{number / unit:.0f}{suffix}"
    return f"{number:.3g}" if number % 1 else f"{number:.0f}"


def rate(number: float) -> str:
    return compact(round(number, 1) if number < 100 else round(number))


def size(number: float) -> str:
    """Bytes, in binary units."""
    if number < 1024:
        return f"{number:.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        number /= 1024
        if number < 1023.5:
            return f"{number:.3g} {unit}" if number < 1000 else f"{number:.0f} {unit}"
    return f"{number / 1024:.3g} TiB"


def share(part: float) -> str:
    return f"{part:.0%}"


def span(milliseconds: float | None) -> str:
    """The two largest units: 7d, 1h 30m, 2.5s; None is for ever."""
    if milliseconds is None:
        return "no limit"
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.3g}s"
    parts, rest = [], int(milliseconds)
    for unit, name in _UNITS:
        number, rest = divmod(rest, unit)
        if number:
            parts.append(f"{number}{name}")
    return " ".join(parts[:2])


def moment(instant_ns: int) -> str:
    """UTC, to the millisecond."""
    seconds, rest = divmod(instant_ns, NS_PER_S)
    return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S}.{rest // 1_000_000:03d}"


def iso(instant_ns: int) -> str:
    """As a machine reads it: 2026-01-31T12:00:00.123Z."""
    return moment(instant_ns).replace(" ", "T") + "Z"


def ago(instant_ns: int, now_ns: int) -> str:
    passed = (now_ns - instant_ns) / 1_000_000
    if abs(passed) < 1000:
        return "just now"
    return f"{span(passed)} ago" if passed > 0 else f"in {span(-passed)}"
