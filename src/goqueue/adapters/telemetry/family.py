"""What a metric is: its name, its type, what it says and by what it is told apart. The reference is made from these."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

__all__ = ["Family", "Row"]

Row = tuple[Sequence[str], float]
"""The values of the labels, and that of the metric."""


class Family(NamedTuple):
    """As it is exported, a counter has `_total` behind its name."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    text: str
    labels: tuple[str, ...] = ()

    @property
    def exported(self) -> str:
        return f"{self.name}_total" if self.kind == "counter" else self.name
