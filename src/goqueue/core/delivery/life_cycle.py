"""Where a record can be on its way through a queue, and what can take it from one place to another.

`Delivery` keeps sets of records and not a state for each, so this table is not consulted there. It is what those sets
add up to: tests hold both against each other, and the documentation is made from it.
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
    "waiting": "Nobody has it, and nothing is in its way. A record begins here.",
    "asleep": "It was published with a delay, and is not due yet or was not taken since.",
    "deferred": "With key order: an earlier record of its key is not done with.",
    "leased": "A consumer has it until a deadline.",
    "resting": "It came back, and is taken again when its pause is over.",
    "settled": "The group is done with it.",
    "dead": "The group is done with it, and a copy is among the dead letters.",
}
STEPS: dict[Step, str] = {
    "hide": "a poll comes to it before it is due",
    "hold": "a poll comes to it while another record of its key is under way",
    "turn": "the record of its key that was before it is done with",
    "take": "a poll leases it",
    "pass_over": "it is never to be delivered: cancelled, expired, compacted, or a marker of the broker's own",
    "extend": "its consumer asks for more time",
    "ack": "its consumer acknowledges it",
    "bury": "its consumer rejects it, or it failed for the last time",
    "retry": "its consumer says that it failed (nack), or the deadline passes",
    "give_back": "its consumer returns it untouched; that is no failure",
    "rewind": "the group's offset is set to it or before it",
    "skip": "the group's offset is set behind it",
    "forget": "retention takes it, or the group commits an offset behind it",
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
"""What leads where. A step that is not here does not happen to a record in that state."""
