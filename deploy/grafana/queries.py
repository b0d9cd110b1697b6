"""Expressions that dashboards have in common; `$on` in them stands for the choice of brokers."""

__all__ = ["quantile", "quantiles", "rate", "total_rate"]

RATE = "[$__rate_interval]"
QUANTILES = ((0.5, "half"), (0.99, "99 of 100"))


def rate(metric: str, by: str, which: str = "$on") -> str:
    return f"sum by ({by}) (rate({metric}{{{which}}}{RATE}))"


def total_rate(metric: str, which: str = "$on") -> str:
    return f"sum(rate({metric}{{{which}}}{RATE}))"


def quantile(share: float, histogram: str, by: str = "le", which: str = "$on") -> str:
    return f"histogram_quantile({share}, sum by ({by}) (rate({histogram}_bucket{{{which}}}{RATE})))"


def quantiles(histogram: str) -> list[tuple[str, str]]:
    return [(quantile(share, histogram), name) for share, name in QUANTILES]
