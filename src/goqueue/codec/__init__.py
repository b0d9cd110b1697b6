"""Record codec: the compiled version where it could be built, its plain Python twin elsewhere."""

from typing import TYPE_CHECKING, Literal

from goqueue.codec.results import Column, Columns, Contexts, IndexEntries, Scan, Stamped, Stop

if TYPE_CHECKING:
    from goqueue.codec.record_py import (
        FIND_BUDGET,
        HEADER_SIZE,
        MAX_HEADERS,
        MAX_KEY,
        MAX_VALUE,
        columns,
        contexts,
        crc32c,
        decode,
        decode_plain,
        encode,
        encode_values,
        find_next,
        grouped,
        index_entries,
        latest_by_key,
        pick,
        retain_latest,
        rows,
        scan,
        seek,
        seek_time,
        stamp,
        stamp_batch,
        starts,
        unfold,
    )

    ACTIVE: Literal["compiled", "python"] = "python"
else:
    try:
        from goqueue.codec.record import *  # noqa: F403

        ACTIVE = "compiled"
    except ImportError:
        from goqueue.codec.record_py import *  # noqa: F403

        ACTIVE = "python"

__all__ = [
    "ACTIVE",
    "FIND_BUDGET",
    "HEADER_SIZE",
    "MAX_HEADERS",
    "MAX_KEY",
    "MAX_VALUE",
    "Column",
    "Columns",
    "Contexts",
    "IndexEntries",
    "Scan",
    "Stamped",
    "Stop",
    "columns",
    "contexts",
    "crc32c",
    "decode",
    "decode_plain",
    "encode",
    "encode_values",
    "find_next",
    "grouped",
    "index_entries",
    "latest_by_key",
    "pick",
    "retain_latest",
    "rows",
    "scan",
    "seek",
    "seek_time",
    "stamp",
    "stamp_batch",
    "starts",
    "unfold",
]
