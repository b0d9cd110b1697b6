"""What a broker says under /metrics, as numbers."""

import urllib.request

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from tests.behaviour.serving import Server

__all__ = ["Exposed", "exposed"]


class Exposed:
    """One scrape."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.families = {family.name: family for family in text_string_to_metric_families(text)}

    @property
    def samples(self) -> list[Sample]:
        return [sample for family in self.families.values() for sample in family.samples]

    def value(self, name: str, **labels: str) -> float:
        """Of the series with exactly these labels; 0 when there is none."""
        return next((one.value for one in self.samples if one.name == name and one.labels == labels), 0.0)

    def sum(self, name: str, **labels: str) -> float:
        """Over all series that have these labels among theirs."""
        return sum(one.value for one in self.samples if one.name == name and one.labels.items() >= labels.items())


def exposed(server: Server) -> Exposed:
    with urllib.request.urlopen(f"http://{server.http}/metrics", timeout=30) as answer:
        return Exposed(answer.read().decode())
