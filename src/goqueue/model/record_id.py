"""Business id of a record: within a topic's deduplication window, a second record with the same id is not written.

The id is a header, so it travels with the record.
"""

from collections.abc import Iterable, Sequence

from goqueue.errors import InvalidRecord
from goqueue.model.record import Record

__all__ = ["ID_HEADER", "LONGEST_ID", "encoded_ids", "id_of", "with_id"]

ID_HEADER = "goqueue-id"
LONGEST_ID = 256


def encoded_ids(ids: Iterable[str | None]) -> list[bytes | None]:
    """Ids as encoded in headers; None for a record without one."""
    try:
        encoded = [None if text is None else text.encode() for text in ids]
    except UnicodeEncodeError:
        raise InvalidRecord("an id has a lone surrogate, which UTF-8 cannot carry") from None
    for one in encoded:
        if one is not None and not 0 < len(one) <= LONGEST_ID:
            raise InvalidRecord(
                f"an id of {len(one)} bytes", hint=f"an id is a text of 1 to {LONGEST_ID} bytes in UTF-8"
            )
    return encoded


def with_id(record: Record, text: str) -> Record:
    """The record with this id, which replaces an earlier one."""
    (encoded,) = encoded_ids((text,))
    assert encoded is not None
    headers = record.headers
    if headers:
        headers = tuple(header for header in headers if header[0] != ID_HEADER)
    headers = (*headers, (ID_HEADER, encoded))
    return Record(record.value, record.key, headers, record.priority, record.timestamp_ns, record.offset, record.flags)


def id_of(headers: Sequence[tuple[str, bytes]]) -> bytes | None:
    return next((value for name, value in reversed(headers) if name == ID_HEADER), None)
