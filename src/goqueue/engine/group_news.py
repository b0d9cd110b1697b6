"""Group watch: members wait for changes of their group, so that a rebalance need not take a heartbeat interval."""

import asyncio

from goqueue.core.groups.events import GroupEvent, MemberTold, OffsetsCommitted

__all__ = ["GroupNews"]


class GroupNews:
    """At most one wait for each member: a new one ends the previous one, whose client may have gone."""

    def __init__(self) -> None:
        self._waiting: dict[str, dict[str, asyncio.Future[bool]]] = {}
        self._is_stopping = False

    def happened(self, group: str, events: list[GroupEvent]) -> None:
        if group in self._waiting and not all(map(_is_silent, events)):
            for waiting in self._waiting[group].values():
                _end(waiting, is_news=True)

    def end_wait(self, group: str, member_id: str) -> None:
        """End the wait of a member that has asked again."""
        waiting = self._waiting.get(group, {}).get(member_id)
        if waiting is not None:
            _end(waiting, is_news=False)

    def end_waits(self) -> None:
        """End all waits: the broker stops."""
        self._is_stopping = True
        for members in self._waiting.values():
            for waiting in members.values():
                _end(waiting, is_news=False)

    async def wait(self, group: str, member_id: str, timeout_s: float) -> bool:
        """True if something happened; False on timeout or when the member has asked again."""
        if self._is_stopping:
            return False
        self.end_wait(group, member_id)
        members = self._waiting.setdefault(group, {})
        mine = members[member_id] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(timeout_s):
                is_news: bool = await mine
                return is_news
        except TimeoutError:
            return False
        finally:
            if members.get(member_id) is mine:
                del members[member_id]
                if not members:
                    del self._waiting[group]


def _end(waiting: "asyncio.Future[bool]", *, is_news: bool) -> None:
    if not waiting.done():
        waiting.set_result(is_news)


def _is_silent(event: GroupEvent) -> bool:
    """Whether the event matters only to the member that caused it, so that the others need not be woken."""
    return isinstance(event, MemberTold | OffsetsCommitted)
