"""Life cycle of a record in a queue: states and transitions.

`Delivery` keeps sets of records and not a state for each record, so it does not use this table. Tests compare the two,
and the documentation is generated from it.
"""

from typing import Literal

__all__ = ["ENDS", "STATES", "STEPS", "TRANSITIONS", "State", "Step"]

State = Literal["waiting", "asleep", "deferred", "leased", "resting", "settled", "dead"]
Step = Literal[
    "hide",
    "hold",
    "turn",
    "take",
    "pass_over",
    "extend",
    "ack",
    "bury",
    "retry",
    "give_back",
    "rewind",
    "skip",
    "forget",
]

STATES: dict[State, str] = {
    "waiting": "It can be taken. Every record starts here.",
    "asleep": "It was published with a delay. It is not due yet, or has not been taken since.",
    "deferred": "With key order: an earlier record of its key is not settled.",
    "leased": "A consumer has it under a lease, until a deadline.",
    "resting": "It failed or was released, and can be taken again after its back-off.",
    "settled": "It is done for this group.",
    "dead": "It is done for this group, and a copy is a dead letter.",
}
STEPS: dict[Step, str] = {
    "hide": "a poll reaches it before it is due",
    "hold": "a poll reaches it while an earlier record of its key is not settled",
    "turn": "the record of its key before it is settled",
    "take": "a poll leases it",
    "pass_over": "it is never delivered: cancelled, expired, compacted, or a marker of the broker",
    "extend": "its consumer asks for more time",
    "ack": "its consumer acknowledges it",
    "bury": "its consumer rejects it, or it has failed `max_attempts` times",
    "retry": "its consumer reports a failure (nack), or the deadline passes",
    "give_back": "its consumer releases it untouched, which is not a failure",
    "rewind": "the group's offset is reset to it or before it",
    "skip": "the group's offset is reset to a later one",
    "forget": "retention deletes it, or the group commits a later offset",
}
ENDS: frozenset[State] = frozenset({"settled", "dead"})

TRANSITIONS: dict[tuple[State, Step], State] = {
    ("waiting", "hide"): "asleep",
    ("waiting", "hold"): "deferred",
    ("waiting", "take"): "leased",
    ("waiting", "pass_over"): "settled",
    ("asleep", "hold"): "deferred",
    ("asleep", "take"): "leased",
    ("asleep", "pass_over"): "settled",
    ("deferred", "turn"): "waiting",
    ("leased", "extend"): "leased",
    ("leased", "ack"): "settled",
    ("leased", "bury"): "dead",
    ("leased", "retry"): "resting",
    ("leased", "give_back"): "resting",
    ("resting", "take"): "leased",
    ("resting", "pass_over"): "settled",
    **{(state, "rewind"): "waiting" for state in STATES if state != "waiting"},
    **{(state, "skip"): "settled" for state in STATES if state != "settled"},
    **{(state, "forget"): "settled" for state in STATES if state not in ENDS},
}
"""The state after a step. A step that is not listed cannot happen to a record in that state."""
