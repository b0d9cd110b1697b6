"""Writes docs/concepts/life-cycle.md from the table of what can happen to a record in a queue."""

from typing import get_args

from goqueue.core.delivery.life_cycle import ENDS, STATES, STEPS, TRANSITIONS, State
from goqueue.engine.tracing.standing import GroupState
from scripts.references import DOCS, code, table

__all__ = ["OF_OPERATORS", "PAGE", "page"]

PAGE = DOCS / "concepts" / "life-cycle.md"
OF_OPERATORS = ("rewind", "skip", "forget")
"""Steps that can happen to a record anywhere, as nobody asks where it is."""
HEAD = """# The life of a record in a queue

A group that takes records one by one keeps, for each of them, where it is on its way. This page is made from the
table in the code (`make references`), which tests hold against what the code does. What leases, retries and dead
letters are stands under [queues](queue.md).

![States and steps](../images/life-cycle.svg)

Each group has its own view: the same record may be settled in one and waiting in another. A record that nobody has
looked at costs nothing, and one that is done with next to nothing. Steps are entries of the journal, so a restart or a
crash changes nothing about where a record is.

## States

*Journey* is what `goqueue trace journey` and [`GET /traces/journey`](../reference/http.md#get-tracesjourney) say.
"""
JOURNEY: dict[State, str] = {
    "waiting": "waiting",
    "asleep": "delayed",
    "deferred": "behind_its_key",
    "leased": "in_flight",
    "resting": "retrying",
    "settled": "done",
    "dead": "dead_lettered",
}
LAST = """- What has failed `max_attempts` times ([3](queue.md#settings-of-a-topic) unless topic or group say otherwise)
  takes *bury* instead of *retry*.
- A step that is not in the table is refused (`unknown_receipt`) and changes nothing: an acknowledgement that comes
  after its deadline, for instance, when the record is resting or somebody else's.
- In a [transaction](../guides/transactions.md) the step is taken when the transaction commits. Until then the record
  stays leased.
"""


def page() -> str:
    assert set(JOURNEY.values()) <= set(get_args(GroupState))
    lines = [HEAD]
    lines += table(("State", "Journey", ""), ((code(name), code(JOURNEY[name]), text) for name, text in STATES.items()))
    lines += ["## Steps", ""]
    rows = [
        (code(state), code(step), code(after), _sentence(STEPS[step]))
        for (state, step), after in TRANSITIONS.items()
        if step not in OF_OPERATORS
    ]
    lines += table(("From", "Step", "To", "When"), rows)
    lines += ["From wherever it is, a record can also be moved by these:", ""]
    lines += table(("Step", "From", "To", "When"), (_moved(step) for step in OF_OPERATORS))
    ends = " and ".join(code(state) for state in STATES if state in ENDS)
    return "\n".join([*lines, f"- {ends} are the ends: only `rewind` leads out of them.", LAST])


def _moved(step: str) -> tuple[str, str, str, str]:
    froms = [state for state, taken in TRANSITIONS if taken == step]
    (to,) = {after for (_, taken), after in TRANSITIONS.items() if taken == step}
    rest = [state for state in STATES if state not in froms]
    where = "any but " + ", ".join(map(code, rest)) if rest else "any"
    return code(step), where, code(to), _sentence(STEPS[step])


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."
