"""What is cut out of a stream of bytes, and how long it stays what it was."""

import pytest

from goqueue.errors import InvalidRequest
from goqueue.wire.native.frames import encode_frame
from goqueue.wire.native.reader import FrameProtocol

SCRATCH = 64


class Taker(FrameProtocol):
    """Takes frames as a client does, and keeps what lies behind their heads."""

    def __init__(self, *, wants_more: bool = True) -> None:
        super().__init__(memoryview(bytearray(SCRATCH)), 10_000)
        self.kept: list[memoryview] = []
        self.wants_more = wants_more

    def _take_frame(self, opcode, flags, correlation, head, tail) -> bool:
        self.kept.append(self._kept(tail))
        return self.wants_more

    def receive(self, data: bytes, most: int) -> None:
        while data:
            into = self.get_buffer(-1)
            count = min(most, len(into), len(data))
            into[:count] = data[:count]
            data = data[count:]
            self._received(count)


@pytest.mark.parametrize("most", [1, 3, 7, 50, 10_000])
@pytest.mark.parametrize("sizes", [(5, 0, 20), (500, 3, 500), (45, 46, 47, 48, 49, 50)])
def test_what_is_kept_of_a_frame_stays_when_others_come(sizes, most):
    taker = Taker()
    tails = [bytes([65 + number]) * size for number, size in enumerate(sizes)]
    taker.receive(b"".join(encode_frame(8, 0, 1, b"head", tail) for tail in tails), most)
    taker.receive(encode_frame(8, 0, 2, b"", b"z" * 600) * 3, most)
    assert taker.kept[: len(tails)] == tails
    assert all(one.readonly for one in taker.kept)


def test_what_came_in_pieces_is_kept_without_a_copy():
    taker = Taker()
    taker.receive(encode_frame(8, 0, 1, b"head", b"x" * 600), SCRATCH)
    (kept,) = taker.kept
    assert len(kept.obj) > len(kept) == 600, "the frame it came in is still around it"


def test_frames_behind_one_that_was_enough_are_taken_when_more_are_wanted():
    taker = Taker(wants_more=False)
    taker.receive(b"".join(encode_frame(8, 0, number, b"", bytes([65 + number])) for number in range(3)), SCRATCH)
    assert taker.kept == [b"A"]
    taker.wants_more = True
    taker._take_held()
    assert taker.kept == [b"A", b"B", b"C"]


@pytest.mark.parametrize("wants_more", [True, False])
@pytest.mark.parametrize("length", [0, 9, 10_001, 0xFFFFFFFF])
def test_what_cannot_be_a_frame_is_refused_before_there_is_room_for_it(length, wants_more):
    taker = Taker(wants_more=wants_more)
    nonsense = length.to_bytes(4, "big")
    with pytest.raises(InvalidRequest, match=f"a frame of {length} bytes"):
        taker.receive(encode_frame(8, 0, 1, b"", b"x") + nonsense, SCRATCH)
    assert len(taker.kept) == 1
