"""Value compression: producers compress, consumers decompress.

A compressed value is one byte for the method (1 zstd, 2 lz4), the length of the original as u32, and the compressed
bytes. The record's COMPRESSED flag marks it. Values that would not get smaller are left as they are.
"""

import functools
from collections.abc import Callable
from typing import Literal

import msgspec

from goqueue.codec.faults import MAX_VALUE
from goqueue.errors import CorruptBatch
from goqueue.model.record import Flag, Record

__all__ = ["CompressionName", "compressor", "decompress"]

CompressionName = Literal["zstd", "lz4"]

HEAD_SIZE = 5
WORTH_TRYING = 64
ZSTD, LZ4 = 1, 2


def compressor(name: CompressionName | None) -> Callable[[Record], Record] | None:
    """A function that compresses the value of a record; None when values are sent uncompressed."""
    if name is None:
        return None
    method = ZSTD if name == "zstd" else LZ4
    pack = _packer(method)

    def compress(record: Record) -> Record:
        value = record.value
        if value is None or len(value) < WORTH_TRYING:
            return record
        packed = bytes((method,)) + len(value).to_bytes(4, "big") + pack(value)
        if len(packed) >= len(value):
            return record
        return msgspec.structs.replace(record, value=packed, flags=record.flags | Flag.COMPRESSED)

    return compress


def decompress(value: bytes) -> bytes:
    """The original value. At most the length it declares is ever allocated."""
    if len(value) < HEAD_SIZE:
        raise CorruptBatch("a compressed value is shorter than its head")
    method, length = value[0], int.from_bytes(value[1:HEAD_SIZE], "big")
    if length > MAX_VALUE:
        raise CorruptBatch(f"a compressed value claims {length} bytes, the limit is {MAX_VALUE}")
    try:
        original = _unpacker(method)(value[HEAD_SIZE:], length)
    except ValueError as error:
        raise CorruptBatch(f"a compressed value cannot be read: {error}") from None
    if len(original) != length:
        raise CorruptBatch(f"a compressed value holds {len(original)} bytes, not the {length} it claims")
    return original


# Each library is imported with the first value of its method.


def _packer(method: int) -> Callable[[bytes], bytes]:
    if method == ZSTD:
        import zstandard

        return zstandard.ZstdCompressor(write_content_size=True).compress
    import lz4.block

    return functools.partial(lz4.block.compress, store_size=False)


@functools.cache
def _unpacker(method: int) -> Callable[[bytes, int], bytes]:
    """A function that decompresses to exactly the given size, or raises ValueError."""
    if method == ZSTD:
        return _zstd_unpacker()
    if method == LZ4:
        return _lz4_unpacker()
    raise ValueError(f"unknown method {method}")


def _zstd_unpacker() -> Callable[[bytes, int], bytes]:
    import zstandard

    def unpack(packed: bytes, length: int) -> bytes:
        # The size in the frame is also chosen by the sender: read no more than was declared.
        try:
            with zstandard.ZstdDecompressor().stream_reader(packed) as reader:
                return reader.read(length + 1)
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from None

    return unpack


def _lz4_unpacker() -> Callable[[bytes, int], bytes]:
    import lz4.block

    def unpack(packed: bytes, length: int) -> bytes:
        try:
            unpacked: bytes = lz4.block.decompress(packed, uncompressed_size=length)
        except lz4.block.LZ4BlockError as error:
            raise ValueError(str(error)) from None
        return unpacked

    return unpack
