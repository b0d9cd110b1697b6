"""What is said after something was done; by name, so that no link can put words into the console's mouth."""

__all__ = ["NOTICES"]

NOTICES = {
    "topic-created": "The topic is there.",
    "topic-changed": "The settings of the topic are changed.",
    "topic-deleted": "The topic and its records are gone.",
    "group-paused": "The group is paused: it is given no records until it is resumed.",
    "group-resumed": "The group is resumed.",
    "group-reset": "The group goes on from where you said.",
    "group-deleted": "The group is gone.",
    "policy-changed": "The policy of the group is changed.",
    "delay-cancelled": "The record is cancelled: it is never delivered.",
    "delays-cancelled": "The records are cancelled: they are never delivered.",
    "delays-some-cancelled": "Some of them were delivered already; the others are cancelled.",
    "delay-rescheduled": "The record has another time.",
    "schedule-created": "The schedule is there, and fires as it says.",
    "schedule-paused": "The schedule is paused.",
    "schedule-resumed": "The schedule goes on.",
    "schedule-deleted": "The schedule is gone.",
    "schema-registered": "The schema is registered.",
    "schema-level": "New versions have to keep that promise from now on.",
    "transaction-aborted": "The transaction is aborted: nothing of it ever happened.",
}
