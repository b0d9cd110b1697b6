"""Log compaction: the latest record of each key, and the records that are kept."""

from goqueue.codec.faults import HEADER_SIZE
from goqueue.codec.twin.header import CONTROL, EMPTY_KEY, TOMBSTONE, Buffer, Fields, readable, whole_record

__all__ = ["latest_by_key", "retain_latest"]


def latest_by_key(buf: Buffer, latest: dict[bytes, int], capacity: int) -> int:
    """Record the offset of each keyed record in `latest`; returns the position reached.

    That is the end of `buf`, or the first record whose key would exceed `capacity`: `latest` is then exact for
    everything before it. Raises CorruptBatch at a record that is not intact.
    """
    data = readable(buf)
    position = number = 0
    while position < len(data):
        fields, end = whole_record(data, number, position)
        key = _key(data, position, fields)
        if key is not None:
            if len(latest) >= capacity and key not in latest:
                return position
            latest[key] = fields[4]
        position = end
        number += 1
    return position


def retain_latest(buf: Buffer, latest: dict[bytes, int], drop_tombstones_before_ns: int) -> bytes:
    """The bytes of the records that compaction keeps; raises CorruptBatch at a record that is not intact.

    Control records and records without a key are always kept. A keyed record is kept unless `latest` has a later one; a
    tombstone that is itself the latest is removed once it is older than `drop_tombstones_before_ns`.
    """
    data = readable(buf)
    kept: list[bytes] = []
    position = number = 0
    while position < len(data):
        fields, end = whole_record(data, number, position)
        key = _key(data, position, fields)
        known = None if key is None else latest.get(key)
        expired = fields[2] & TOMBSTONE and fields[5] < drop_tombstones_before_ns
        if known is None or fields[4] > known or (fields[4] == known and not expired):
            kept.append(data[position:end])
        position = end
        number += 1
    return b"".join(kept)


def _key(data: bytes, position: int, fields: Fields) -> bytes | None:
    """The key for compaction; None for a control record or a record without a key."""
    flags, size = fields[2], fields[8]
    if flags & CONTROL or not (size or flags & EMPTY_KEY):
        return None
    return data[position + HEADER_SIZE : position + HEADER_SIZE + size]
