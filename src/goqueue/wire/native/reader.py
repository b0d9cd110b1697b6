"""Cut a stream of bytes into frames, with as few copies and steps as there can be.

Bytes are read into a scratch buffer that many connections may share, as they read one after another. Only a frame
that has not arrived whole gets a buffer of its own: an idle connection holds none. The buffer grows with what has
arrived, so that announcing a large frame costs the other end nothing.
"""

import asyncio
from typing import cast

from goqueue.errors import InvalidRequest
from goqueue.wire.native.frames import FRAME_HEAD, FRAME_LENGTH, LENGTH_SIZE

__all__ = ["SCRATCH_BYTES", "FrameProtocol"]

SCRATCH_BYTES = 256 * 1024
FIRST_BYTES = 1024
"""Of a buffer for a frame of which next to nothing has arrived."""
GROWTH = 4
"""From one buffer of a frame to the next; each time what has arrived is copied."""

# Numbers of C where this is compiled.
_HEAD_SIZE = FRAME_HEAD.size
_LENGTH_SIZE = LENGTH_SIZE
_LEAST = _HEAD_SIZE - LENGTH_SIZE
_unpack_head = FRAME_HEAD.unpack_from


class FrameProtocol:
    """Takes each frame as it is complete. What is common to both ends of a connection.

    Whoever is given to an event loop is also an `asyncio.BufferedProtocol`.
    """

    def __init__(self, scratch: memoryview, max_frame_bytes: int) -> None:
        self._scratch = scratch
        self._max_frame_bytes = max_frame_bytes
        self._partial: memoryview | None = None
        self._filled = 0
        self._held = False
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def _take_frame(self, opcode: int, flags: int, correlation: int, head: memoryview, tail: memoryview) -> bool:
        """Head and tail are only good until it returns, or when `_kept`; False to be given no more for now."""
        raise AssertionError("whoever takes frames says how")

    @property
    def _has_partial_frame(self) -> bool:
        return self._partial is not None and not self._held

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes belong."""
        return self._scratch if self._partial is None else self._partial[self._filled :]

    def _received(self, count: int) -> None:
        """So many bytes are in the buffer now. Raises InvalidRequest when they cannot be frames."""
        if self._partial is None:
            self._cut(self._scratch, count)
        else:
            self._filled += count
            self._cut(self._partial, self._filled)

    def _kept(self, data: memoryview) -> memoryview:
        """Bytes of a frame that are good for as long as one wants them.

        Only the scratch buffer is written to again. A frame that came in pieces lies in a buffer of its own, and large
        ones always do: these are not copied.
        """
        return memoryview(bytes(data)) if data.obj is self._scratch.obj else data.toreadonly()

    def _take_held(self) -> None:
        """Go on with the frames that were here already when one was enough."""
        if self._held and self._partial is not None:
            self._cut(self._partial, self._filled)

    def _cut(self, data: memoryview, size: int) -> None:
        start, wanted = 0, True
        while wanted and size - start >= _HEAD_SIZE:
            length, opcode, flags, correlation, head_length = _unpack_head(data, start)
            end = start + _LENGTH_SIZE + length
            if end > size or not _LEAST <= length <= self._max_frame_bytes:
                # Not whole, or nothing that could be: that is looked at where the rest is kept.
                break
            head = start + _HEAD_SIZE
            tail = head + head_length
            if tail > end:
                raise _not_native("a frame whose head is longer than itself")
            start = end
            wanted = self._take_frame(opcode, flags, correlation, data[head:tail], data[tail:end])
        self._held = not wanted
        if start == size:
            self._partial = None
        else:
            self._keep(data[start:size])

    def _keep(self, rest: memoryview) -> None:
        size = len(rest) + LENGTH_SIZE
        if len(rest) >= LENGTH_SIZE:
            (length,) = FRAME_LENGTH.unpack_from(rest)
            if not _LEAST <= length <= self._max_frame_bytes:
                raise _not_native(f"a frame of {length} bytes, the limit is {self._max_frame_bytes}")
            size = max(len(rest), min(LENGTH_SIZE + length, max(FIRST_BYTES, GROWTH * len(rest))))
        if self._partial is not None and len(rest) == self._filled < len(self._partial):
            return
        fresh = memoryview(bytearray(size))
        fresh[: len(rest)] = rest
        self._partial, self._filled = fresh, len(rest)


def _not_native(reason: str) -> InvalidRequest:
    return InvalidRequest(f"not a native frame: {reason}", hint="is this the native port and a native client?")
