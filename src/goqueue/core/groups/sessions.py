"""Sessions: deadlines of members, for heartbeats and for pending answers. Heartbeats are not persisted.

Heartbeats are far more frequent than deadlines, so a heartbeat only notes the time. The heap holds one valid entry per
member, which may be too early, never too late; it is corrected when it comes to the top.
"""

import heapq

from goqueue.core.groups.events import GenerationStarted, GroupEvent, MemberJoined, MemberRemoved, MemberReplaced
from goqueue.core.groups.state.ledger import Ledger
from goqueue.core.groups.state.lifecycle import Reason
from goqueue.model.ids import InstantNs

__all__ = ["REVOCATION_MS", "Sessions"]

REVOCATION_MS = 60_000
"""How long a member may take to give up partitions, or to return to an eager group, before it is removed."""

MS_NS = 1_000_000


class Sessions:
    """When each member was last seen, and the next deadline."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._restarted_at = InstantNs(0)
        self._seen: dict[str, InstantNs] = {}
        self._due: dict[str, InstantNs] = {}
        self._heap: list[tuple[InstantNs, str]] = []

    def last_seen(self, member_id: str) -> InstantNs:
        return self._seen[member_id]

    def sign_of_life(self, member_id: str, *, now: InstantNs) -> None:
        was_set_back = now < self._seen[member_id]
        self._seen[member_id] = now
        if was_set_back:
            self._watch(member_id)

    def start(self, *, now: InstantNs) -> None:
        """Start all sessions with their full time."""
        self._restarted_at = now
        self._seen = {member.profile.member_id: now for member in self._ledger.roster}
        self._due = {member_id: self._deadline(member_id) for member_id in self._seen}
        self._heap = [(due, member_id) for member_id, due in self._due.items()]
        heapq.heapify(self._heap)

    def follow(self, event: GroupEvent) -> None:
        """Called after the ledger has applied the event."""
        match event:
            case MemberJoined():
                self._welcome(event.profile.member_id, event.at)
            case MemberReplaced():
                self._forget(event.old_id)
                self._welcome(event.profile.member_id, event.at)
            case MemberRemoved():
                self._forget(event.member_id)
            case GenerationStarted():
                for member_id in self._ledger.reconciliation.awaited:
                    self._watch(member_id)
            case _:
                pass

    def earliest(self) -> InstantNs | None:
        while self._heap:
            due, member_id = self._heap[0]
            if self._due.get(member_id) != due:
                heapq.heappop(self._heap)
                continue
            actual = self._deadline(member_id)
            if actual <= due:
                return due
            self._due[member_id] = actual
            heapq.heapreplace(self._heap, (actual, member_id))
        return None

    def overdue(self, *, now: InstantNs) -> dict[str, Reason]:
        """Members past their deadline, the earliest first, with the reason. They are watched until they are removed."""
        found = []
        while (due := self.earliest()) is not None and due <= now:
            found.append(heapq.heappop(self._heap))
        for entry in found:
            heapq.heappush(self._heap, entry)
        return {
            member_id: Reason.SESSION_EXPIRED if self._session_end(member_id) <= now else Reason.REVOCATION_OVERDUE
            for _, member_id in found
        }

    def _welcome(self, member_id: str, now: InstantNs) -> None:
        self._seen[member_id] = now
        self._watch(member_id)

    def _forget(self, member_id: str) -> None:
        del self._seen[member_id]
        del self._due[member_id]

    def _watch(self, member_id: str) -> None:
        """Add a heap entry if the deadline is nearer than before."""
        due = self._deadline(member_id)
        if due < self._due.get(member_id, due + 1):
            self._due[member_id] = due
            heapq.heappush(self._heap, (due, member_id))

    def _session_end(self, member_id: str) -> InstantNs:
        session_ms = self._ledger.roster.member(member_id).profile.session_ms
        return InstantNs(self._seen[member_id] + session_ms * MS_NS)

    def _deadline(self, member_id: str) -> InstantNs:
        asked_since = self._ledger.reconciliation.asked_since(member_id)
        session_end = self._session_end(member_id)
        if asked_since is None:
            return session_end
        answer_due = max(asked_since, self._restarted_at) + REVOCATION_MS * MS_NS
        return min(session_end, InstantNs(answer_due))
