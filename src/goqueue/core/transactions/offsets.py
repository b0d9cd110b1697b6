"""Planned offsets: checks of the offsets that a transaction commits for a group."""

from collections.abc import Mapping

from goqueue.core.transactions.transaction import GroupOffset
from goqueue.errors import InvalidRequest

__all__ = ["MOST_OFFSETS", "check_offsets"]

MOST_OFFSETS = 10_000
LONGEST_METADATA = 4096


def check_offsets(given: tuple[GroupOffset, ...], known: Mapping[tuple[str, str, int], GroupOffset]) -> None:
    places = {(one.group, one.topic, one.partition) for one in given}
    if not given or len(known.keys() | places) > MOST_OFFSETS:
        raise InvalidRequest(
            f"a transaction commits from 1 to {MOST_OFFSETS} offsets", hint="commit the last offset of each partition"
        )
    for one in given:
        if one.offset < 0 or len(one.metadata) > LONGEST_METADATA:
            raise InvalidRequest(
                f"offset {one.offset} of {one.topic}/{one.partition} cannot be committed",
                hint=f"it is 0 or more, and its metadata has at most {LONGEST_METADATA} characters",
            )
