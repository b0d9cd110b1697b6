"""What a native fetch does: reads for anybody, or for a member of a group what is its own."""

from functools import partial

from goqueue import codec
from goqueue.engine.broker import Broker
from goqueue.engine.fetch import Fetched, FetchFrom, fetch
from goqueue.errors import MemberFenced
from goqueue.gateways.native.connection import Buffer
from goqueue.gateways.native.waits import Waits
from goqueue.model.isolation import Isolation
from goqueue.model.log import LogId
from goqueue.model.topic import TopicName
from goqueue.wire.native import messages
from goqueue.wire.native.frames import MAX_FRAME_BYTES

__all__ = ["FETCH_BYTES", "Fetching"]

FETCH_BYTES = MAX_FRAME_BYTES - codec.MAX_VALUE - 1024 * 1024
"""Most that a fetch may ask for: one more record of the largest kind still fits into the frame of the answer."""


class Fetching:
    """Answers fetches."""

    def __init__(self, broker: Broker, waits: Waits) -> None:
        self._broker = broker
        self._waits = waits

    async def __call__(self, request: messages.Fetch) -> tuple[messages.Fetched, list[Buffer]]:
        member = request.member
        if member is not None:
            group = self._broker.groups.group(member.group)
            group.check_poll(member.member_id, member.generation, now=self._broker.clock.now_ns())
        parts = [FetchFrom(TopicName(part.topic), part.partition, part.offset) for part in request.parts]
        isolation = Isolation(request.isolation)
        answers = await self._fetch(parts, min(request.max_bytes, FETCH_BYTES), request.wait_ms, isolation)
        if member is not None:
            answers = self._only_own(member, parts, answers)
        tail: list[Buffer] = [chunk.records for answer in answers for chunk in answer.chunks]
        return messages.Fetched(tuple(map(_fetched_part, parts, answers))), tail

    async def _fetch(self, parts: list[FetchFrom], max_bytes: int, wait_ms: int, isolation: Isolation) -> list[Fetched]:
        look = partial(fetch, self._broker, parts, max_bytes=max_bytes, isolation=isolation)
        return await self._waits.wait(look(wait_ms=wait_ms), partial(look, wait_ms=0))

    def _only_own(self, member: messages.GroupMember, parts: list[FetchFrom], answers: list[Fetched]) -> list[Fetched]:
        """The group may have changed while the fetch waited."""
        own = set(self._broker.groups.group(member.group).assignment(member.member_id).partitions)
        return [
            answer if (log := LogId(part.topic, part.partition)) in own else Fetched(refusal=_fenced(member, log))
            for part, answer in zip(parts, answers, strict=True)
        ]


def _fenced(member: messages.GroupMember, log: LogId) -> MemberFenced:
    return MemberFenced(f"{log} is not for {member.member_id} to read")


def _fetched_part(part: FetchFrom, answer: Fetched) -> messages.FetchedPart:
    refusal = answer.refusal
    return messages.FetchedPart(
        part.topic,
        part.partition,
        answer.chunks[0].first_offset if answer.chunks else part.offset,
        answer.next_offset,
        answer.high_watermark,
        answer.start_offset,
        answer.size,
        messages.ErrorReply(refusal.code, refusal.message, refusal.hint) if refusal is not None else None,
        answer.skip,
        answer.stable_offset,
    )
