"""Record codec in plain Python: the same functions, results and errors as the compiled `goqueue.codec.record`."""

from goqueue.codec.faults import HEADER_SIZE, MAX_HEADERS, MAX_KEY, MAX_VALUE
from goqueue.codec.twin.batch import decode, decode_plain, encode, encode_values, grouped, rows, stamp, stamp_batch
from goqueue.codec.twin.columns import columns
from goqueue.codec.twin.compact import latest_by_key, retain_latest
from goqueue.codec.twin.contexts import contexts
from goqueue.codec.twin.header import crc32c
from goqueue.codec.twin.walk import FIND_BUDGET, find_next, index_entries, pick, scan, seek, seek_time, starts, unfold

__all__ = [
    "FIND_BUDGET",
    "HEADER_SIZE",
    "MAX_HEADERS",
    "MAX_KEY",
    "MAX_VALUE",
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
