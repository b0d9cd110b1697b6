"""Every page of the console, as one table: a further file of pages is one more line here."""

from goqueue.gateways.console.page import Part
from goqueue.gateways.console.pages import (
    dead_letter,
    dead_letters,
    delays,
    groups,
    journey,
    overview,
    publish,
    queues,
    records,
    redriving,
    schedules,
    schemas,
    search,
    settings,
    topic,
    topics,
    traces,
    transactions,
)

__all__ = ["PARTS"]

PARTS: tuple[Part, ...] = (
    overview.PART,
    topics.PART,
    topic.PART,
    records.PART,
    publish.PART,
    schemas.PART,
    groups.PART,
    queues.PART,
    dead_letters.PART,
    dead_letter.PART,
    redriving.PART,
    delays.PART,
    schedules.PART,
    traces.PART,
    journey.PART,
    transactions.PART,
    settings.PART,
    search.PART,
)
"""In the order of the navigation."""
