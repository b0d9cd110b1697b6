"""Cut a stream of bytes into frames, with as few copies as there can be.

Bytes are read into a scratch buffer that many connections may share, as they read one after another. Only a frame
that has not arrived whole gets a buffer of its own, of just its size: an idle connection holds none.
"""

from collections.abc import Callable

from goqueue.errors import InvalidRequest
from goqueue.wire.native.frames import FRAME_HEAD, FRAME_LENGTH, LENGTH_SIZE, Frame, parse_frame

__all__ = ["SCRATCH_BYTES", "FrameReader"]

SCRATCH_BYTES = 256 * 1024

_LEAST = FRAME_HEAD.size - LENGTH_SIZE


class FrameReader:
    """Gives each frame to `take` as it is complete; its bytes are only good until `take` returns, or when `kept`.

    `take` returns False to be given no more for now; `resume` goes on with the frames that are here already.
    """

    def __init__(self, scratch: memoryview, max_frame_bytes: int, take: Callable[[Frame], bool]) -> None:
        self._scratch = scratch
        self._max_frame_bytes = max_frame_bytes
        self._take = take
        self._partial: memoryview | None = None
        self._filled = 0
        self._held = False

    @property
    def has_partial_frame(self) -> bool:
        return self._partial is not None and not self._held

    def buffer(self) -> memoryview:
        """Where the next bytes belong."""
        return self._scratch if self._partial is None else self._partial[self._filled :]

    def received(self, count: int) -> None:
        """So many bytes are in the buffer now. Raises InvalidRequest when they cannot be frames."""
        if self._partial is None:
            self._cut(self._scratch[:count])
        else:
            self._filled += count
            self._cut(self._partial[: self._filled])

    def kept(self, data: memoryview) -> memoryview:
        """Bytes of a frame that are good for as long as one wants them.

        Only the scratch buffer is written to again. A frame that came in pieces lies in a buffer of its own, and large
        ones always do: these are not copied.
        """
        return memoryview(bytes(data)) if data.obj is self._scratch.obj else data.toreadonly()

    def resume(self) -> None:
        if self._held and self._partial is not None:
            self._cut(self._partial[: self._filled])

    def _cut(self, data: memoryview) -> None:
        start, wanted, size = 0, True, len(data)
        while wanted and size - start >= LENGTH_SIZE:
            (length,) = FRAME_LENGTH.unpack_from(data, start)
            if not _LEAST <= length <= self._max_frame_bytes:
                raise _not_native(f"a frame of {length} bytes, the limit is {self._max_frame_bytes}")
            end = start + LENGTH_SIZE + length
            if end > size:
                break
            frame = parse_frame(data, start, end)
            if frame is None:
                raise _not_native("a frame whose head is longer than itself")
            start = end
            wanted = self._take(frame)
        self._held = not wanted
        self._keep(data[start:])

    def _keep(self, rest: memoryview) -> None:
        if not rest:
            self._partial = None
            return
        if self._partial is not None and len(rest) == self._filled < len(self._partial):
            return
        size = len(rest) + LENGTH_SIZE
        if len(rest) >= LENGTH_SIZE:
            size = max(len(rest), LENGTH_SIZE + FRAME_LENGTH.unpack_from(rest)[0])
        fresh = memoryview(bytearray(size))
        fresh[: len(rest)] = rest
        self._partial, self._filled = fresh, len(rest)


def _not_native(reason: str) -> InvalidRequest:
    return InvalidRequest(f"not a native frame: {reason}", hint="is this the native port and a native client?")
