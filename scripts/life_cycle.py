"""Writes docs/concepts/life-cycle.md from the table of states and steps of a record in a queue."""

from typing import get_args

from goqueue.core.delivery.life_cycle import ENDS, STATES, STEPS, TRANSITIONS, State
from goqueue.engine.tracing.standing import GroupState
from scripts.references import DOCS, code, table

__all__ = ["OF_OPERATORS", "PAGE", "page"]

PAGE = DOCS / "concepts" / "life-cycle.md"
OF_OPERATORS = ("rewind", "skip", "forget")
"""Steps that are possible in several states."""
HEAD = """# The life of a record in a queue

A group that takes records one by one keeps a state for each of them. This page is generated from the table in the code
(`make references`), and tests compare that table with what the code does. [Queues](queue.md) explains leases, retries
and dead letters.

![States and steps](../images/life-cycle.svg)

Each group has its own view: the same record may be settled in one group and waiting in another. A record that no poll
has reached costs nothing, and a settled one next to nothing. Steps are entries of the journal, so a restart or a crash
does not change the state of a record.

## States

*Journey* is the name of the state in `goqueue trace journey` and
[`GET /traces/journey`](../reference/http.md#get-tracesjourney).
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
LAST = """- After `max_attempts` failures ([3](queue.md#settings-of-a-topic) by default) *bury* replaces *retry*.
- A step that is not in the table is refused with `unknown_receipt` and changes nothing: for example an acknowledgement
  after the deadline, when the record is resting or leased to another consumer.
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
    lines += ["These steps are possible in several states:", ""]
    lines += table(("Step", "From", "To", "When"), (_moved(step) for step in OF_OPERATORS))
    ends = " and ".join(code(state) for state in STATES if state in ENDS)
    return "\n".join([*lines, f"- {ends} are final: only `rewind` leads out of them.", LAST])


def _moved(step: str) -> tuple[str, str, str, str]:
    froms = [state for state, taken in TRANSITIONS if taken == step]
    (to,) = {after for (_, taken), after in TRANSITIONS.items() if taken == step}
    rest = [state for state in STATES if state not in froms]
    where = "any but " + ", ".join(map(code, rest)) if rest else "any"
    return code(step), where, code(to), _sentence(STEPS[step])


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."
