"""A logger that remembers, and runs of spans to write."""

from goqueue.model.span import Operation, SpanRun

__all__ = ["Listener", "run_of"]

SECOND_NS = 1_000_000_000
BEGUN_NS = 1_767_225_600 * SECOND_NS


class Listener:
    def __init__(self):
        self.said = []

    def error(self, event, **facts):
        self.said.append((event, facts))

    warning = info = error

    @property
    def events(self):
        return [event for event, _ in self.said]


def run_of(offset, count=1, *, after_s=0, **more):
    start_ns = BEGUN_NS + after_s * SECOND_NS
    return SpanRun(
        Operation.PUBLISH, start_ns, start_ns + 5000, "orders", BEGUN_NS, 2, offset=offset, count=count, **more
    )
