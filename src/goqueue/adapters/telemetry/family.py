"""Metric family: name, type, description and labels. The metrics reference is generated from these."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

__all__ = ["Family", "Row"]

Row = tuple[Sequence[str], float]
"""Values of the labels, and value of the metric."""


class Family(NamedTuple):
    """Description of a metric. An exported counter has the suffix `_total`."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    text: str
    labels: tuple[str, ...] = ()

    @property
    def exported(self) -> str:
        return f"{self.name}_total" if self.kind == "counter" else self.name
