# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Record codec, compiled: the same functions, results and errors as the plain Python `goqueue.codec.record_py`.

Bytes are hostile until checked. Each header is copied out of the buffer once and every later step uses that copy, and
every write into a sized output is bounded again: the owner of a buffer may change it from a thread that does not
hold the GIL, which may give a wrong answer but must not give a wild read or write.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_Check, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_Check
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_Check, PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_SET_ITEM
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_Check, PyUnicode_DecodeUTF8
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, memset

from goqueue.codec import faults as _faults
from goqueue.codec.results import Columns, Contexts, IndexEntries, Scan, Stamped
from goqueue.errors import CorruptBatch
from goqueue.model.record import Record

cdef extern from "crc32c.h" nogil:
    void gq_crc_init()
    uint32_t gq_crc32c(uint32_t crc, const uint8_t *p, size_t n)
    uint32_t gq_crc32c_software(uint32_t crc, const uint8_t *p, size_t n)
    void gq_crc32c_restamp(const uint8_t *was, const uint8_t *becomes, const uint8_t *rest, size_t n,
                           uint32_t *old_crc, uint32_t *new_crc)
    uint16_t gq_get16(const uint8_t *p)
    uint32_t gq_get32(const uint8_t *p)
    int64_t gq_get64(const uint8_t *p)
    void gq_put16(uint8_t *p, uint16_t x)
    void gq_put32(uint8_t *p, uint32_t x)
    void gq_put64(uint8_t *p, int64_t x)
    void gq_little32(char *p, int32_t x)
    void gq_little64(char *p, int64_t x)
    bint gq_is_utf8(const uint8_t *p, size_t n)

cdef extern from *:
    """
    /* Like tuple.__new__ of a tuple subclass, without a tuple to copy from. */
    static inline PyObject *gq_new_row(PyObject *kind, Py_ssize_t size) {
        return ((PyTypeObject *)kind)->tp_alloc((PyTypeObject *)kind, size);
    }
    """
    object gq_new_row(object kind, Py_ssize_t size)
    void PyObject_GC_UnTrack(void *row)

gq_crc_init()

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

HEADER_SIZE = 34
MAX_KEY = 65_535
MAX_HEADERS = 65_535
MAX_VALUE = 16_777_216
FIND_BUDGET = 1 << 30

cdef enum:
    HEADER = 34
    KEY_LIMIT = 65_535
    HEADERS_LIMIT = 65_535
    VALUE_LIMIT = 16_777_216
    PRIORITY_LIMIT = 4
    # Repeats the limit of `goqueue.model.trace`.
    LONGEST_STATE = 512
    PRIORITY_NORMAL = 2
    BUDGET = 1 << 30
    # Below this size a batch is finished before another thread could use the GIL.
    NOGIL_SIZE = 65_536

cdef enum:
    COMPRESSED = 1
    HAS_HEADERS = 2
    TOMBSTONE = 4
    CONTROL = 8
    COMMIT = 16
    EMPTY_KEY = 32
    UNKNOWN_BITS = 0xC0
    GIVEN = 1 | 8 | 16

# Repeats the numbers of goqueue.codec.faults.Fault.
cdef enum:
    FAULT_SHORT_HEADER = 1
    FAULT_MAGIC = 2
    FAULT_VERSION = 3
    FAULT_UNKNOWN_FLAGS = 4
    FAULT_FLAGS_COPY = 5
    FAULT_HEADERS_FLAG = 6
    FAULT_HEADERS_SHORT = 7
    FAULT_TOMBSTONE_VALUE = 8
    FAULT_TOMBSTONE_FLAGS = 9
    FAULT_COMMIT_ALONE = 10
    FAULT_CONTROL_COMPRESSED = 11
    FAULT_EMPTY_KEY_LENGTH = 12
    FAULT_VALUE_TOO_LARGE = 13
    FAULT_PRIORITY = 14
    FAULT_OFFSET = 15
    FAULT_TIMESTAMP = 16
    FAULT_SHORT_BODY = 17
    FAULT_CRC = 18
    FAULT_HEADERS_NONE = 19
    FAULT_HEADERS_OVERRUN = 20
    FAULT_HEADERS_LEFTOVER = 21
    FAULT_HEADERS_UTF8 = 22

cdef enum:
    WANT_OFFSET = 1
    WANT_TIMESTAMP = 2
    WANT_PRIORITY = 4
    WANT_FLAGS = 8
    WANT_KEY = 16
    WANT_VALUE = 32
    WANT_HEADERS = 64
    WANT_ALL = 127

cdef struct Header:
    uint8_t flags
    uint8_t priority
    uint32_t crc
    int64_t offset
    int64_t timestamp
    int64_t key
    int64_t value
    int64_t headers
    int64_t size


# --- one header, one headers block -----------------------------------------------------------------------------------

cdef inline int header_fault(const uint8_t *p, Header *h, bint client) noexcept nogil:
    """Read the 34 bytes at `p` into `h` and check them by value; 0 if they can be a record's header."""
    cdef uint8_t copy = p[25]
    h.flags = p[3]
    h.crc = gq_get32(p + 4)
    h.offset = gq_get64(p + 8)
    h.timestamp = gq_get64(p + 16)
    h.priority = p[24]
    h.key = gq_get16(p + 26)
    h.value = gq_get32(p + 28)
    h.headers = gq_get16(p + 32)
    h.size = HEADER + h.key + h.value + h.headers
    if p[0] != 0x47 or p[1] != 0x51:
        return FAULT_MAGIC
    if p[2] != 1:
        return FAULT_VERSION
    if h.flags & UNKNOWN_BITS:
        return FAULT_UNKNOWN_FLAGS
    if copy != h.flags and not (client and copy == 0):
        return FAULT_FLAGS_COPY
    if (h.headers > 0) != ((h.flags & HAS_HEADERS) != 0):
        return FAULT_HEADERS_FLAG
    if h.headers == 1:
        return FAULT_HEADERS_SHORT
    if h.flags & ~HAS_HEADERS:
        if h.flags & TOMBSTONE and h.value:
            return FAULT_TOMBSTONE_VALUE
        if h.flags & TOMBSTONE and h.flags & (CONTROL | COMPRESSED):
            return FAULT_TOMBSTONE_FLAGS
        if h.flags & COMMIT and not h.flags & CONTROL:
            return FAULT_COMMIT_ALONE
        if h.flags & CONTROL and h.flags & COMPRESSED:
            return FAULT_CONTROL_COMPRESSED
        if h.flags & EMPTY_KEY and h.key:
            return FAULT_EMPTY_KEY_LENGTH
    if h.value > VALUE_LIMIT:
        return FAULT_VALUE_TOO_LARGE
    if h.priority > PRIORITY_LIMIT:
        return FAULT_PRIORITY
    if h.offset < 0:
        return FAULT_OFFSET
    if h.timestamp < 0:
        return FAULT_TIMESTAMP
    return 0


cdef inline int walk_fault(const uint8_t *p, int64_t left, Header *h) noexcept nogil:
    """Check the stored record at `p` by value and against the `left` remaining bytes, but not its CRC."""
    cdef int fault
    if left < HEADER:
        return FAULT_SHORT_HEADER
    fault = header_fault(p, h, False)
    if fault:
        return fault
    return FAULT_SHORT_BODY if h.size > left else 0


cdef inline int stored_fault(const uint8_t *p, int64_t left, Header *h) noexcept nogil:
    """Check the stored record at `p`, including its CRC."""
    cdef int fault = walk_fault(p, left, h)
    if fault:
        return fault
    return 0 if gq_crc32c(0, p + 8, h.size - 8) == h.crc else FAULT_CRC


cdef int headers_fault(const uint8_t *p, int64_t size, int64_t *count, int64_t *key_bytes) noexcept nogil:
    """Check a headers block of at least 2 bytes; gives the number of headers and the total size of their keys."""
    cdef int64_t left = gq_get16(p)
    cdef int64_t at = 2
    cdef int64_t length, value_size
    count[0] = left
    key_bytes[0] = 0
    if left == 0:
        return FAULT_HEADERS_NONE
    while left:
        if at + 2 > size:
            return FAULT_HEADERS_OVERRUN
        length = gq_get16(p + at)
        at += 2
        if at + length + 2 > size:
            return FAULT_HEADERS_OVERRUN
        value_size = gq_get16(p + at + length)
        if at + length + 2 + value_size > size:
            return FAULT_HEADERS_OVERRUN
        if not gq_is_utf8(p + at, length):
            return FAULT_HEADERS_UTF8
        key_bytes[0] += length
        at += length + 2 + value_size
        left -= 1
    return 0 if at == size else FAULT_HEADERS_LEFTOVER


cdef inline bint has_key(const Header *h) noexcept nogil:
    return h.key > 0 or h.flags & EMPTY_KEY


# --- arguments -------------------------------------------------------------------------------------------------------

cdef inline Py_ssize_t start_of(object start, Py_ssize_t size) except -1:
    if not 0 <= start <= size:
        _faults.check_start(start, size)
    return start


cdef inline uint64_t bound_of(object number) except? 1:
    """`number`, clamped, as a lower bound of non-negative i64 values; 2**63 is above all of them."""
    cdef int overflow = 0
    cdef int64_t exact = PyLong_AsLongLongAndOverflow(number, &overflow)
    if overflow > 0:
        return <uint64_t>1 << 63
    if overflow < 0 or exact < 0:
        return 0
    return <uint64_t>exact


def crc32c(buf, crc=0):
    """CRC-32C of `buf`, continued from `crc`."""
    cdef Py_buffer view
    cdef uint32_t state = <uint32_t>(crc & 0xFFFFFFFF)
    PyObject_GetBuffer(buf, &view, PyBUF_SIMPLE)
    try:
        return gq_crc32c(state, <const uint8_t *>view.buf, view.len)
    finally:
        PyBuffer_Release(&view)


def _crc32c_software(buf, crc=0):
    """The implementation of `crc32c` for processors without a CRC instruction."""
    cdef Py_buffer view
    cdef uint32_t state = <uint32_t>(crc & 0xFFFFFFFF)
    PyObject_GetBuffer(buf, &view, PyBUF_SIMPLE)
    try:
        return gq_crc32c_software(state, <const uint8_t *>view.buf, view.len)
    finally:
        PyBuffer_Release(&view)


# --- encode ----------------------------------------------------------------------------------------------------------

cdef class _Output:
    """Growable byte buffer; nothing is allocated before the first byte."""

    cdef uint8_t *data
    cdef size_t used
    cdef size_t capacity

    def __dealloc__(self):
        PyMem_Free(self.data)

    cdef uint8_t *reserve(self, size_t size) except NULL:
        """Reserve `size` more bytes and count them as used."""
        cdef size_t capacity = self.capacity
        cdef uint8_t *data
        if size > capacity - self.used:
            capacity = max(capacity, <size_t>2048)
            while capacity - self.used < size:
                capacity *= 2
            data = <uint8_t *>PyMem_Realloc(self.data, capacity)
            if data == NULL:
                raise MemoryError
            self.data = data
            self.capacity = capacity
        self.used += size
        return self.data + self.used - size

    cdef bytes finish(self):
        return PyBytes_FromStringAndSize(<char *>self.data, self.used)


cdef inline int64_t checked_int(Py_ssize_t number, str what, object given, int64_t limit) except -1:
    cdef int overflow = 0
    cdef int64_t exact
    if not PyLong_Check(given):
        raise _faults.invalid(number, f"the {what} must be an int, not {type(given).__name__}")
    exact = PyLong_AsLongLongAndOverflow(given, &overflow)
    if overflow or exact < 0 or exact > limit:
        raise _faults.invalid(number, f"the {what} is outside 0..{limit}")
    return exact


cdef inline int64_t checked_bytes(Py_ssize_t number, str what, object data, int64_t limit) except -1:
    """The length of a bytes, 0 for None."""
    if data is None:
        return 0
    if not PyBytes_Check(data):
        raise _faults.invalid(number, f"the {what} must be bytes or None, not {type(data).__name__}")
    if PyBytes_GET_SIZE(data) > limit:
        raise _faults.too_large(number, what, PyBytes_GET_SIZE(data), limit)
    return PyBytes_GET_SIZE(data)


cdef int64_t headers_size(Py_ssize_t number, object headers) except -1:
    cdef int64_t size = 2
    cdef Py_ssize_t i, length
    cdef object pair
    if not PyTuple_Check(headers):
        raise _faults.invalid(number, f"the headers must be a tuple, not {type(headers).__name__}")
    if PyTuple_GET_SIZE(headers) == 0:
        return 0
    for i in range(PyTuple_GET_SIZE(headers)):
        pair = <object>PyTuple_GET_ITEM(headers, i)
        if (
            not PyTuple_Check(pair)
            or PyTuple_GET_SIZE(pair) != 2
            or not PyUnicode_Check(<object>PyTuple_GET_ITEM(pair, 0))
            or not PyBytes_Check(<object>PyTuple_GET_ITEM(pair, 1))
        ):
            raise _faults.invalid(number, "a header must be a tuple of a str and a bytes")
        try:
            PyUnicode_AsUTF8AndSize(<object>PyTuple_GET_ITEM(pair, 0), &length)
        except UnicodeEncodeError:
            raise _faults.invalid(number, "a header key has a lone surrogate, which UTF-8 cannot carry") from None
        size += 4 + length + PyBytes_GET_SIZE(<object>PyTuple_GET_ITEM(pair, 1))
    if size > HEADERS_LIMIT:
        raise _faults.too_large(number, "headers block", size, HEADERS_LIMIT)
    return size


cdef int write_headers(uint8_t *p, object headers) except -1:
    """Write the block that `headers_size` has measured; tuples are immutable, so the size still holds."""
    cdef Py_ssize_t i, length
    cdef const char *text
    cdef object pair, value
    gq_put16(p, <uint16_t>PyTuple_GET_SIZE(headers))
    p += 2
    for i in range(PyTuple_GET_SIZE(headers)):
        pair = <object>PyTuple_GET_ITEM(headers, i)
        value = <object>PyTuple_GET_ITEM(pair, 1)
        text = PyUnicode_AsUTF8AndSize(<object>PyTuple_GET_ITEM(pair, 0), &length)
        gq_put16(p, <uint16_t>length)
        memcpy(p + 2, text, length)
        p += 2 + length
        length = PyBytes_GET_SIZE(value)
        gq_put16(p, <uint16_t>length)
        memcpy(p + 2, PyBytes_AS_STRING(value), length)
        p += 2 + length
    return 0


cdef int flags_of(Py_ssize_t number, int given, object key, object value, int64_t headers) except -1:
    cdef int flags = given
    if value is None and given & (CONTROL | COMPRESSED):
        raise _faults.invalid(number, "a tombstone cannot be compressed or a control record")
    if given & COMMIT and not given & CONTROL:
        raise _faults.invalid(number, "the commit flag without the control flag")
    if given & CONTROL and given & COMPRESSED:
        raise _faults.invalid(number, "a control record cannot be compressed")
    if headers:
        flags |= HAS_HEADERS
    if value is None:
        flags |= TOMBSTONE
    if key is not None and PyBytes_GET_SIZE(key) == 0:
        flags |= EMPTY_KEY
    return flags


cdef int put_record(
    _Output out, Py_ssize_t number, object key, int64_t key_size, object value, int64_t value_size, object headers,
    int64_t block_size, int64_t priority, int64_t given, int64_t timestamp, int64_t offset,
) except -1:
    """Write one record; `block_size` is the size of its headers block. All sizes come from the checks."""
    cdef int flags = flags_of(number, <int>given, key, value, block_size)
    cdef uint8_t *p = out.reserve(HEADER + key_size + value_size + block_size)
    p[0] = 0x47
    p[1] = 0x51
    p[2] = 1
    p[3] = <uint8_t>flags
    gq_put64(p + 8, offset)
    gq_put64(p + 16, timestamp)
    p[24] = <uint8_t>priority
    p[25] = <uint8_t>flags
    gq_put16(p + 26, <uint16_t>key_size)
    gq_put32(p + 28, <uint32_t>value_size)
    gq_put16(p + 32, <uint16_t>block_size)
    if key_size:
        memcpy(p + HEADER, PyBytes_AS_STRING(key), key_size)
    if value_size:
        memcpy(p + HEADER + key_size, PyBytes_AS_STRING(value), value_size)
    if block_size:
        write_headers(p + HEADER + key_size + value_size, headers)
    gq_put32(p + 4, gq_crc32c(0, p + 8, HEADER - 8 + key_size + value_size + block_size))
    return 0


def encode(records):
    """The records as bytes, in order, each with its CRC; offsets and timestamps as given."""
    cdef _Output out = _Output()
    cdef Py_ssize_t number = 0
    cdef int64_t key_size, value_size, block_size, priority, given, timestamp, offset
    cdef object key, value, headers
    for record in records:
        if not isinstance(record, Record):
            raise _faults.invalid(number, f"a {type(record).__name__} is not a Record")
        key = record.key
        key_size = checked_bytes(number, "key", key, KEY_LIMIT)
        value = record.value
        value_size = checked_bytes(number, "value", value, VALUE_LIMIT)
        headers = record.headers
        block_size = headers_size(number, headers)
        priority = checked_int(number, "priority", record.priority, PRIORITY_LIMIT)
        given = checked_int(number, "flags", record.flags, 0xFF) & GIVEN
        timestamp = checked_int(number, "timestamp_ns", record.timestamp_ns, INT64_MAX)
        offset = checked_int(number, "offset", record.offset, INT64_MAX)
        put_record(
            out, number, key, key_size, value, value_size, headers, block_size, priority, given, timestamp, offset
        )
        number += 1
    return out.finish()


def encode_values(values, keys, headers, priority):
    """Like `encode`, for records of these values and keys (None: no keys), all with these headers and this priority."""
    cdef _Output out = _Output()
    cdef Py_ssize_t number
    cdef int64_t key_size, value_size, block_size = 0, lane = 0
    cdef list all_values = list(values)
    cdef list all_keys = None if keys is None else list(keys)
    cdef object key = None, value
    if all_keys is not None and len(all_keys) != len(all_values):
        raise ValueError(f"{len(all_keys)} keys for {len(all_values)} values")
    for number in range(len(all_values)):
        if all_keys is not None:
            key = all_keys[number]
        value = all_values[number]
        key_size = checked_bytes(number, "key", key, KEY_LIMIT)
        value_size = checked_bytes(number, "value", value, VALUE_LIMIT)
        if number == 0:
            # Checked here so that of several faults of a record, the same one is reported as by `encode`.
            block_size = headers_size(number, headers)
            lane = checked_int(number, "priority", priority, PRIORITY_LIMIT)
        put_record(out, number, key, key_size, value, value_size, headers, block_size, lane, 0, 0, 0)
    return out.finish()


# --- stamp -----------------------------------------------------------------------------------------------------------

cdef struct Stamping:
    int64_t position
    int64_t count
    int64_t max_timestamp
    int64_t largest_value
    int flags
    # Union of the bits in which priorities differ from the normal one.
    int priority_bits


cdef int stamp_all(
    uint8_t *data, int64_t size, int64_t base_offset, int64_t timestamp_ns, bint keep, Stamping *s
) noexcept nogil:
    cdef Header h
    cdef uint8_t fresh[24]
    cdef uint8_t *p
    cdef uint32_t old_crc = 0
    cdef uint32_t new_crc = 0
    cdef int64_t timestamp, count, key_bytes
    cdef int fault
    while s.position < size:
        p = data + s.position
        if size - s.position < HEADER:
            return FAULT_SHORT_HEADER
        fault = header_fault(p, &h, True)
        if fault:
            return fault
        if h.size > size - s.position:
            return FAULT_SHORT_BODY
        timestamp = h.timestamp if keep and h.timestamp else timestamp_ns
        gq_put64(fresh, base_offset + s.count)
        gq_put64(fresh + 8, timestamp)
        memcpy(fresh + 16, p + 24, 8)
        fresh[17] = h.flags
        gq_crc32c_restamp(p + 8, fresh, p + 32, h.size - 32, &old_crc, &new_crc)
        if old_crc != h.crc:
            return FAULT_CRC
        if h.headers:
            fault = headers_fault(p + h.size - h.headers, h.headers, &count, &key_bytes)
            if fault:
                return fault
        memcpy(p + 8, fresh, 18)
        gq_put32(p + 4, new_crc)
        if timestamp > s.max_timestamp:
            s.max_timestamp = timestamp
        if h.value > s.largest_value:
            s.largest_value = h.value
        s.flags |= h.flags
        s.priority_bits |= h.priority ^ PRIORITY_NORMAL
        s.count += 1
        s.position += h.size
    return 0


cdef bytes priorities_of(const uint8_t *data, int64_t size, int64_t count):
    """A byte for each of the `count` records just stamped.

    A separate pass: the count is known only now, and batches in which all priorities are normal never get here.
    """
    cdef Header h
    cdef bytes found = PyBytes_FromStringAndSize(NULL, count)
    cdef int64_t position = 0
    cdef int64_t row
    for row in range(count):
        if walk_fault(data + position, size - position, &h):
            raise CorruptBatch("the records changed while they were stamped", position=position)
        PyBytes_AS_STRING(found)[row] = <char>h.priority
        position += h.size
    return found


def stamp(batch, base_offset, timestamp_ns, bint keep_timestamps=False):
    """Check each record of a client's batch and set its offset, its timestamp and a new CRC, in place.

    Offsets are assigned from `base_offset` on. With `keep_timestamps` a timestamp other than 0 stays. After an error,
    the content of the batch is undefined.
    """
    return tuple.__new__(Stamped, stamp_batch(batch, base_offset, timestamp_ns, keep_timestamps))


def stamp_batch(batch, base_offset, timestamp_ns, bint keep_timestamps=False):
    """Like `stamp`, with the result as a plain tuple, which is cheaper to create and to unpack."""
    cdef Py_buffer view
    cdef Stamping s
    cdef int64_t base, timestamp
    cdef int fault
    memset(&s, 0, sizeof(s))
    PyObject_GetBuffer(batch, &view, PyBUF_SIMPLE | PyBUF_WRITABLE)
    try:
        if not 0 <= base_offset <= INT64_MAX - view.len or not 0 <= timestamp_ns <= INT64_MAX:
            _faults.check_stamp_arguments(base_offset, timestamp_ns, view.len)
        if view.len == 0:
            raise _faults.empty_batch()
        base = base_offset
        timestamp = timestamp_ns
        if view.len > NOGIL_SIZE:
            with nogil:
                fault = stamp_all(<uint8_t *>view.buf, view.len, base, timestamp, keep_timestamps, &s)
        else:
            fault = stamp_all(<uint8_t *>view.buf, view.len, base, timestamp, keep_timestamps, &s)
        if fault:
            raise _faults.corrupt(fault, batch, s.count, s.position, client=True)
        priorities = None
        if s.priority_bits:
            priorities = priorities_of(<const uint8_t *>view.buf, view.len, s.count)
        return s.count, s.max_timestamp, s.largest_value, s.flags, priorities
    finally:
        PyBuffer_Release(&view)


# --- walking ---------------------------------------------------------------------------------------------------------

cdef struct Scanning:
    int64_t position
    int64_t count
    int64_t first
    int64_t last
    int64_t max_timestamp
    int stop

cdef enum:
    STOP_END = 0
    STOP_LIMIT = 1
    STOP_TORN = 2
    STOP_DAMAGED = 3

cdef tuple STOPS = ("end", "limit", "torn", "damaged")


cdef void scan_all(const uint8_t *data, int64_t size, uint64_t limit, Scanning *s) noexcept nogil:
    cdef Header h
    cdef int fault
    while s.position < size:
        fault = stored_fault(data + s.position, size - s.position, &h)
        if fault == FAULT_SHORT_HEADER or fault == FAULT_SHORT_BODY:
            s.stop = STOP_TORN
            return
        if fault or h.offset <= s.last:
            s.stop = STOP_DAMAGED
            return
        if <uint64_t>h.offset >= limit:
            s.stop = STOP_LIMIT
            return
        if s.count == 0:
            s.first = h.offset
        s.last = h.offset
        if h.timestamp > s.max_timestamp:
            s.max_timestamp = h.timestamp
        s.count += 1
        s.position += h.size
    s.stop = STOP_END


def scan(buf, start=0, limit_offset=None):
    """Verify stored records from `start` on, up to the first one that is not intact or is at `limit_offset`."""
    cdef Py_buffer view
    cdef Scanning s
    cdef uint64_t limit = <uint64_t>1 << 63
    PyObject_GetBuffer(buf, &view, PyBUF_SIMPLE)
    try:
        s.position = start_of(start, view.len)
        s.count = 0
        s.first = s.last = s.max_timestamp = -1
        if limit_offset is not None:
            limit = bound_of(limit_offset)
        if view.len - s.position > NOGIL_SIZE:
            with nogil:
                scan_all(<const uint8_t *>view.buf, view.len, limit, &s)
        else:
            scan_all(<const uint8_t *>view.buf, view.len, limit, &s)
        return tuple.__new__(Scan, (s.count, s.position, s.first, s.last, s.max_timestamp, STOPS[s.stop]))
    finally:
        PyBuffer_Release(&view)


cdef int64_t find_in(const uint8_t *data, int64_t size, int64_t position, uint64_t low, uint64_t high) noexcept nogil:
    cdef Header h
    cdef int64_t budget = BUDGET
    cdef const uint8_t *p
    while size - position >= HEADER:
        # A header that starts later than this would run past the end.
        p = <const uint8_t *>memchr(data + position, 0x47, size - position - HEADER + 1)
        if p == NULL:
            return -1
        position = p - data
        if p[1] == 0x51 and header_fault(p, &h, False) == 0:
            if (
                low <= <uint64_t>h.offset <= high
                and h.size <= size - position
                and h.size - 8 <= budget
            ):
                if gq_crc32c(0, p + 8, h.size - 8) == h.crc:
                    return position
                budget -= h.size - 8
        position += 1
    return -1


def find_next(buf, start, min_offset, max_offset):
    """The position of the next intact record with an offset in min_offset..max_offset, or -1.

    Hostile bytes that look like headers could ask for a CRC over the rest of the buffer at every step, so at most
    FIND_BUDGET bytes are summed in total: a candidate longer than the remaining budget is skipped.
    """
    cdef Py_buffer view
    cdef int64_t position
    cdef uint64_t low, high
    PyObject_GetBuffer(buf, &view, PyBUF_SIMPLE)
    try:
        position = start_of(start, view.len)
        if max_offset < 0:
            return -1
        low = bound_of(min_offset)
        high = bound_of(max_offset)
        if view.len - position > NOGIL_SIZE:
            with nogil:
                position = find_in(<const uint8_t *>view.buf, view.len, position, low, high)
        else:
            position = find_in(<const uint8_t *>view.buf, view.len, position, low, high)
        return position
    finally:
        PyBuffer_Release(&view)


cdef object seek_by(object buf, object start, uint64_t least, bint by_time):
    cdef Py_buffer view
    cdef Header h
    cdef const uint8_t *data
    cdef int64_t position
    PyObject_GetBuffer(buf, &view, PyBUF_SIMPLE)
    try:
        data = <const uint8_t *>view.buf
        position = start_of(start, view.len)
        while walk_fault(data + position, view.len - position, &h) == 0:
            if <uint64_t>(h.timestamp if by_time else h.offset) >= least:
                return position, h.offset
            position += h.size
        return position, -1
    finally:
        PyBuffer_Release(&view)


def seek(buf, offset, start=0):
    """Position and offset of the first record at or after `offset`; (where the walk ended, -1) if there is none."""
    return seek_by(buf, start, bound_of(offset), False)


def seek_time(buf, timestamp_ns, start=0):
    """Position and offset of the first record stamped at or after `timestamp_ns`, like `seek`."""
    return seek_by(buf, start, bound_of(timestamp_ns), True)


cdef inline void write_entry(uint8_t *p, int64_t number, int64_t position) noexcept nogil:
    gq_put64(p, number)
    gq_put32(p + 8, <uint32_t>position)
    gq_put32(p + 12, gq_crc32c(0, p, 12))


def index_entries(buf, file_position, next_at, interval, max_timestamp_ns):
    """Index entries for the records in `buf`, at `file_position` of its file, about one per `interval` bytes.

    A time entry holds the highest timestamp *before* its record: a search for a time may then start at the last entry
    below it and misses nothing, in whatever order the timestamps are.
    """
    cdef Py_buffer view
    cdef Header h
    cdef _Output offsets, times
    cdef const uint8_t *data
    cdef int64_t base, due, step, newest, position, at
    PyObject_GetBuffer(buf, &view, PyBUF_SIMPLE)
    try:
        _faults.check_index_arguments(file_position, next_at, interval, max_timestamp_ns, view.len)
        base = file_position
        due = next_at
        step = interval
        newest = max_timestamp_ns
        data = <const uint8_t *>view.buf
        position = 0
        offsets = _Output()
        times = _Output()
        while walk_fault(data + position, view.len - position, &h) == 0:
            at = base + position
            if at >= due:
                write_entry(offsets.reserve(16), h.offset, at)
                write_entry(times.reserve(16), newest, at)
                due = at + step
            if h.timestamp > newest:
                newest = h.timestamp
            position += h.size
        return tuple.__new__(IndexEntries, (offsets.finish(), times.finish(), due, newest))
    finally:
        PyBuffer_Release(&view)


# --- decode ----------------------------------------------------------------------------------------------------------

cdef object read_headers(const uint8_t *p, int64_t size):
    """The headers of a block as a tuple, or the number of the fault that keeps it from having any."""
    cdef int64_t count, key_bytes, key_size, value_size
    cdef int64_t at = 2
    cdef list headers = []
    cdef int fault = headers_fault(p, size, &count, &key_bytes)
    if fault:
        return fault
    while at + 4 <= size and count:
        key_size = gq_get16(p + at)
        if at + 4 + key_size > size:
            return FAULT_HEADERS_OVERRUN
        value_size = gq_get16(p + at + 2 + key_size)
        if at + 4 + key_size + value_size > size:
            return FAULT_HEADERS_OVERRUN
        try:
            key = PyUnicode_DecodeUTF8(<const char *>p + at + 2, key_size, NULL)
        except UnicodeDecodeError:
            return FAULT_HEADERS_UTF8
        headers.append((key, PyBytes_FromStringAndSize(<const char *>p + at + 4 + key_size, value_size)))
        at += 4 + key_size + value_size
        count -= 1
    return tuple(headers)


cdef inline void put_item(object row, Py_ssize_t at, object item):
    """Store an item in a new tuple that has not been shared yet."""
    Py_INCREF(item)
    PyTuple_SET_ITEM(row, at, item)


cdef object row_of(object kind, tuple before, const Header *h, object key, object value, object headers):
    cdef Py_ssize_t at, known = len(before)
    cdef object row = gq_new_row(kind, known + 6)
    for at in range(known):
        put_item(row, at, before[at])
    put_item(row, known, h.offset)
    put_item(row, known + 1, h.timestamp)
    put_item(row, known + 2, key)
    put_item(row, known + 3, value)
    put_item(row, known + 4, headers)
    put_item(row, known + 5, h.priority)
    # No reference cycle is possible, so the garbage collector need not traverse each row again and again.
    PyObject_GC_UnTrack(<void *>row)
    return row


cdef list decode_all(object buf, object kind, tuple before):
    """Records, or rows of a `kind` of tuple; None instead of rows when a record is not plain."""
    cdef Py_buffer view
    cdef Header h
    cdef const uint8_t *data
    cdef const uint8_t *p
    cdef int64_t position = 0
    cdef int fault, flags = 0
    cdef list found = []
    cdef object key, value, headers
    PyObject_GetBuffer(buf, &view, PyBUF_SIMPLE)
    try:
        data = <const uint8_t *>view.buf
        while position < view.len:
            p = data + position
            fault = stored_fault(p, view.len - position, &h)
            headers = ()
            if fault == 0 and h.headers:
                headers = read_headers(p + h.size - h.headers, h.headers)
                if type(headers) is int:
                    fault = headers
            if fault:
                raise _faults.corrupt(fault, buf, len(found), position)
            key = PyBytes_FromStringAndSize(<const char *>p + HEADER, h.key) if has_key(&h) else None
            value = None
            if not h.flags & TOMBSTONE:
                value = PyBytes_FromStringAndSize(<const char *>p + HEADER + h.key, h.value)
            if kind is None:
                found.append(Record(value, key, headers, h.priority, h.timestamp, h.offset, h.flags & GIVEN))
            else:
                found.append(row_of(kind, before, &h, key, value, headers))
            flags |= h.flags & GIVEN
            position += h.size
        return found if kind is None or not flags else None
    finally:
        PyBuffer_Release(&view)


def decode(buf):
    """The stored records in `buf`, which must hold nothing else; raises CorruptBatch if it does."""
    return decode_all(buf, None, ())


def decode_plain(buf, kind, tuple before not None):
    """Like `decode`, with each record as a `kind` of tuple: `before`, offset, timestamp, key, value, headers, priority.

    None when some record cannot be returned as it is: one that is compressed, or a control record.
    """
    if not issubclass(kind, tuple):
        raise TypeError(f"{kind!r} is no kind of tuple")
    return decode_all(buf, kind, before)


def rows(list items not None, kind, tuple after not None):
    """For each item a `kind` of tuple: the item and `after`. These must never contain a reference back to the tuple."""
    if not issubclass(kind, tuple):
        raise TypeError(f"{kind!r} is no kind of tuple")
    cdef Py_ssize_t at, known = len(after)
    cdef list found = []
    cdef object row
    for item in items:
        row = gq_new_row(kind, known + 1)
        put_item(row, 0, item)
        for at in range(known):
            put_item(row, at + 1, after[at])
        # No reference cycle is possible: the garbage collector need not traverse them.
        PyObject_GC_UnTrack(<void *>row)
        found.append(row)
    return found


def grouped(rows, Py_ssize_t field):
    """Group by the last item of each row the values that its first item has at `field`; all of them are tuples."""
    cdef dict found = {}
    cdef list some = None
    cdef PyObject *last = NULL
    cdef object item
    cdef Py_ssize_t size
    for row in rows:
        size = PyTuple_GET_SIZE(row) if PyTuple_Check(row) else 0
        if size < 1:
            raise TypeError(f"{row!r} is no row")
        item = <object>PyTuple_GET_ITEM(row, 0)
        if not PyTuple_Check(item) or not 0 <= field < PyTuple_GET_SIZE(item):
            raise TypeError(f"{item!r} has no field {field}")
        if PyTuple_GET_ITEM(row, size - 1) != last:
            # Mostly the same as in the previous row.
            last = PyTuple_GET_ITEM(row, size - 1)
            some = found.setdefault(<object>last, [])
        some.append(<object>PyTuple_GET_ITEM(item, field))
    return found


# --- columns ---------------------------------------------------------------------------------------------------------

cdef struct Totals:
    int64_t records
    int64_t key_bytes
    int64_t key_nulls
    int64_t value_bytes
    int64_t value_nulls
    int64_t headers
    int64_t header_key_bytes
    int64_t header_value_bytes


cdef inline bytes room(bint wanted, int64_t size):
    return PyBytes_FromStringAndSize(NULL, size) if wanted else b""


cdef inline bytes bitmap(int64_t nulls, int64_t bits):
    """A bitmap with all bits clear; a column without nulls needs none."""
    if nulls == 0:
        return b""
    cdef bytes result = PyBytes_FromStringAndSize(NULL, (bits + 7) // 8)
    memset(PyBytes_AS_STRING(result), 0, (bits + 7) // 8)
    return result


cdef int measure(const uint8_t *data, int64_t size, int64_t *position, Totals *t) noexcept nogil:
    """Verify all records and sum the sizes that the columns need."""
    cdef Header h
    cdef const uint8_t *p
    cdef int64_t count, key_bytes
    cdef int fault
    while position[0] < size:
        p = data + position[0]
        fault = stored_fault(p, size - position[0], &h)
        if fault:
            return fault
        if h.headers:
            fault = headers_fault(p + h.size - h.headers, h.headers, &count, &key_bytes)
            if fault:
                return fault
            t.headers += count
            t.header_key_bytes += key_bytes
            t.header_value_bytes += h.headers - 2 - 4 * count - key_bytes
        t.key_bytes += h.key
        t.key_nulls += not has_key(&h)
        t.value_bytes += h.value
        t.value_nulls += (h.flags & TOMBSTONE) != 0
        t.records += 1
        position[0] += h.size
    return 0


cdef struct Binary:
    char *bits
    char *offsets
    char *data
    int64_t used


cdef inline void add_binary(Binary *b, int64_t row, const uint8_t *p, int64_t size, bint present) noexcept nogil:
    memcpy(b.data + b.used, p, size)
    b.used += size
    gq_little32(b.offsets + 4 * (row + 1), <int32_t>b.used)
    if present and b.bits != NULL:
        b.bits[row >> 3] |= <char>(1 << (row & 7))


cdef inline Binary binary_of(bint wanted, int64_t nulls, bytes bits, bytes offsets, bytes data):
    cdef Binary b
    b.bits = PyBytes_AS_STRING(bits) if wanted and nulls else NULL
    b.offsets = PyBytes_AS_STRING(offsets)
    b.data = PyBytes_AS_STRING(data)
    b.used = 0
    if wanted:
        gq_little32(b.offsets, 0)
    return b


cdef int add_headers(
    Binary *keys, Binary *values, const uint8_t *p, int64_t size, int64_t *row, const Totals *t
) noexcept nogil:
    """Add one block; 0 if it changed since it was measured."""
    cdef int64_t count = gq_get16(p)
    cdef int64_t at = 2
    cdef int64_t key_size, value_size
    while count:
        if at + 4 > size:
            return 0
        key_size = gq_get16(p + at)
        if at + 4 + key_size > size:
            return 0
        value_size = gq_get16(p + at + 2 + key_size)
        if (
            at + 4 + key_size + value_size > size
            or row[0] >= t.headers
            or keys.used + key_size > t.header_key_bytes
            or values.used + value_size > t.header_value_bytes
        ):
            return 0
        add_binary(keys, row[0], p + at + 2, key_size, True)
        add_binary(values, row[0], p + at + 4 + key_size, value_size, True)
        row[0] += 1
        at += 4 + key_size + value_size
        count -= 1
    return 1


def columns(buf, want=WANT_ALL):
    """The stored records in `buf`, which must hold nothing else, as Arrow buffers; `want` is a mask of Column bits.

    Every record is verified, whichever columns are wanted; raises CorruptBatch at one that is not intact.
    """
    cdef Py_buffer view
    cdef Header h
    cdef Totals t
    cdef Binary keys, values, header_keys, header_values
    cdef const uint8_t *data
    cdef const uint8_t *p
    cdef int64_t position = 0
    cdef int64_t row, header_row = 0
    cdef int mask = want
    cdef int fault
    memset(&t, 0, sizeof(t))
    PyObject_GetBuffer(buf, &view, PyBUF_SIMPLE)
    try:
        _faults.check_arrow_size(view.len)
        data = <const uint8_t *>view.buf
        fault = measure(data, view.len, &position, &t)
        if fault:
            raise _faults.corrupt(fault, buf, t.records, position)

        offsets = room(mask & WANT_OFFSET, 8 * t.records)
        timestamps = room(mask & WANT_TIMESTAMP, 8 * t.records)
        priorities = room(mask & WANT_PRIORITY, t.records)
        flags = room(mask & WANT_FLAGS, t.records)
        key_nulls = t.key_nulls if mask & WANT_KEY else 0
        key_validity = bitmap(key_nulls, t.records)
        key_offsets = room(mask & WANT_KEY, 4 * (t.records + 1))
        key_data = room(mask & WANT_KEY, t.key_bytes)
        value_nulls = t.value_nulls if mask & WANT_VALUE else 0
        value_validity = bitmap(value_nulls, t.records)
        value_offsets = room(mask & WANT_VALUE, 4 * (t.records + 1))
        value_data = room(mask & WANT_VALUE, t.value_bytes)
        header_list = room(mask & WANT_HEADERS, 4 * (t.records + 1))
        header_key_offsets = room(mask & WANT_HEADERS, 4 * (t.headers + 1))
        header_key_data = room(mask & WANT_HEADERS, t.header_key_bytes)
        header_value_offsets = room(mask & WANT_HEADERS, 4 * (t.headers + 1))
        header_value_data = room(mask & WANT_HEADERS, t.header_value_bytes)

        keys = binary_of(mask & WANT_KEY, key_nulls, key_validity, key_offsets, key_data)
        values = binary_of(mask & WANT_VALUE, value_nulls, value_validity, value_offsets, value_data)
        header_keys = binary_of(mask & WANT_HEADERS, 0, b"", header_key_offsets, header_key_data)
        header_values = binary_of(mask & WANT_HEADERS, 0, b"", header_value_offsets, header_value_data)
        if mask & WANT_HEADERS:
            gq_little32(PyBytes_AS_STRING(header_list), 0)

        position = 0
        for row in range(t.records):
            p = data + position
            if (
                walk_fault(p, view.len - position, &h)
                or (mask & WANT_KEY and keys.used + h.key > t.key_bytes)
                or (mask & WANT_VALUE and values.used + h.value > t.value_bytes)
            ):
                raise CorruptBatch("the records changed while they were read", position=position)
            if mask & WANT_OFFSET:
                gq_little64(PyBytes_AS_STRING(offsets) + 8 * row, h.offset)
            if mask & WANT_TIMESTAMP:
                gq_little64(PyBytes_AS_STRING(timestamps) + 8 * row, h.timestamp)
            if mask & WANT_PRIORITY:
                PyBytes_AS_STRING(priorities)[row] = <char>h.priority
            if mask & WANT_FLAGS:
                PyBytes_AS_STRING(flags)[row] = <char>h.flags
            if mask & WANT_KEY:
                add_binary(&keys, row, p + HEADER, h.key, has_key(&h))
            if mask & WANT_VALUE:
                add_binary(&values, row, p + HEADER + h.key, h.value, not h.flags & TOMBSTONE)
            if mask & WANT_HEADERS:
                if h.headers and not add_headers(
                    &header_keys, &header_values, p + h.size - h.headers, h.headers, &header_row, &t
                ):
                    raise CorruptBatch("the records changed while they were read", position=position)
                gq_little32(PyBytes_AS_STRING(header_list) + 4 * (row + 1), <int32_t>header_row)
            position += h.size
        if mask & WANT_HEADERS and header_row != t.headers:
            raise CorruptBatch("the records changed while they were read", position=position)
        return Columns(
            t.records,
            offsets,
            timestamps,
            priorities,
            flags,
            key_nulls,
            key_validity,
            key_offsets,
            key_data,
            value_nulls,
            value_validity,
            value_offsets,
            value_data,
            header_row,
            header_list,
            header_key_offsets,
            header_key_data,
            header_value_offsets,
            header_value_data,
        )
    finally:
        PyBuffer_Release(&view)


# --- compaction ------------------------------------------------------------------------------------------------------

def latest_by_key(buf, dict latest not None, Py_ssize_t capacity):
    """Record the offset of each keyed record in `latest`; returns the position reached.

    That is the end of `buf`, or the first record whose key would exceed `capacity`: `latest` is then exact for
    everything before it. Raises CorruptBatch at a record that is not intact.
    """
    cdef Py_buffer view
    cdef Header h
    cdef const uint8_t *data
    cdef int64_t position = 0
    cdef Py_ssize_t number = 0
    cdef int fault
    cdef bytes key
    PyObject_GetBuffer(buf, &view, PyBUF_SIMPLE)
    try:
        data = <const uint8_t *>view.buf
        while position < view.len:
            fault = stored_fault(data + position, view.len - position, &h)
            if fault:
                raise _faults.corrupt(fault, buf, number, position)
            if has_key(&h) and not h.flags & CONTROL:
                key = PyBytes_FromStringAndSize(<const char *>data + position + HEADER, h.key)
                if len(latest) >= capacity and key not in latest:
                    return position
                latest[key] = h.offset
            position += h.size
            number += 1
        return position
    finally:
        PyBuffer_Release(&view)


cdef bint stays(const Header *h, bytes key, dict latest, object drop_tombstones_before_ns) except -1:
    cdef PyObject *found = PyDict_GetItemWithError(latest, key)
    cdef int64_t known
    if found == NULL:
        return True
    known = <object>found
    if h.offset != known:
        return h.offset > known
    return not (h.flags & TOMBSTONE and h.timestamp < drop_tombstones_before_ns)


def retain_latest(buf, dict latest not None, drop_tombstones_before_ns):
    """The bytes of the records that compaction keeps; raises CorruptBatch at a record that is not intact.

    Control records and records without a key are always kept. A keyed record is kept unless `latest` has a later one; a
    tombstone that is itself the latest is removed once it is older than `drop_tombstones_before_ns`.
    """
    cdef Py_buffer view
    cdef Header h
    cdef const uint8_t *data
    cdef _Output kept = _Output()
    cdef int64_t position = 0
    cdef Py_ssize_t number = 0
    cdef int fault
    cdef bytes key
    PyObject_GetBuffer(buf, &view, PyBUF_SIMPLE)
    try:
        data = <const uint8_t *>view.buf
        while position < view.len:
            fault = stored_fault(data + position, view.len - position, &h)
            if fault:
                raise _faults.corrupt(fault, buf, number, position)
            if has_key(&h) and not h.flags & CONTROL:
                key = PyBytes_FromStringAndSize(<const char *>data + position + HEADER, h.key)
                if stays(&h, key, latest, drop_tombstones_before_ns):
                    memcpy(kept.reserve(h.size), data + position, h.size)
            else:
                memcpy(kept.reserve(h.size), data + position, h.size)
            position += h.size
            number += 1
        return kept.finish()
    finally:
        PyBuffer_Release(&view)


def pick(buf, wanted):
    """The records at these offsets, and which of the offsets were found; control records are never returned.

    Offsets are passed and returned as packed native 64-bit integers, ascending. Raises CorruptBatch at a record that is
    not intact; of the records skipped only the frame is read, as they were verified when the bytes were read.
    """
    cdef Py_buffer view
    cdef Py_buffer list_view
    cdef Header h
    cdef const uint8_t *data
    cdef _Output kept = _Output()
    cdef _Output found = _Output()
    cdef int64_t position = 0
    cdef int64_t start = 0, end = 0
    cdef int64_t offset = 0
    cdef Py_ssize_t number = 0, at = 0, count = 0
    cdef int fault
    PyObject_GetBuffer(buf, &view, PyBUF_SIMPLE)
    try:
        PyObject_GetBuffer(wanted, &list_view, PyBUF_SIMPLE)
        try:
            data = <const uint8_t *>view.buf
            count = list_view.len // 8
            while position < view.len and at < count:
                fault = walk_fault(data + position, view.len - position, &h)
                if fault:
                    raise _faults.corrupt(fault, buf, number, position)
                while at < count:
                    memcpy(&offset, <const char *>list_view.buf + 8 * at, 8)
                    if offset >= h.offset:
                        break
                    at += 1
                if at < count and offset == h.offset:
                    if gq_crc32c(0, data + position + 8, h.size - 8) != h.crc:
                        raise _faults.corrupt(FAULT_CRC, buf, number, position)
                    if not h.flags & CONTROL:
                        # Adjacent records are copied together, most often all of them.
                        if position != end:
                            if end > start:
                                memcpy(kept.reserve(end - start), data + start, end - start)
                            start = position
                        end = position + h.size
                        memcpy(found.reserve(8), &offset, 8)
                    at += 1
                position += h.size
                number += 1
            if kept.used == 0:
                return PyBytes_FromStringAndSize(<const char *>data + start, end - start), found.finish()
            memcpy(kept.reserve(end - start), data + start, end - start)
            return kept.finish(), found.finish()
        finally:
            PyBuffer_Release(&list_view)
    finally:
        PyBuffer_Release(&view)


cdef int64_t LAST_OFFSET = 0x7FFFFFFFFFFFFFFF


def starts(buf):
    """Start positions of all records, and the end of the last one, as packed native 64-bit integers.

    Only frames are read, as for the records that `pick` skips; raises CorruptBatch at an invalid one.
    """
    cdef Py_buffer view
    cdef Header h
    cdef const uint8_t *data
    cdef _Output found = _Output()
    cdef int64_t position = 0
    cdef Py_ssize_t number = 0
    cdef int fault
    PyObject_GetBuffer(buf, &view, PyBUF_SIMPLE)
    try:
        data = <const uint8_t *>view.buf
        while position < view.len:
            fault = walk_fault(data + position, view.len - position, &h)
            if fault:
                raise _faults.corrupt(fault, buf, number, position)
            memcpy(found.reserve(8), &position, 8)
            position += h.size
            number += 1
        memcpy(found.reserve(8), &position, 8)
        return found.finish()
    finally:
        PyBuffer_Release(&view)


def unfold(runs, most):
    """The offsets of runs, given as tuples (first, count), as packed native 64-bit integers.

    None if there are more than `most`, if a run is empty, or if a value is not an offset.
    """
    cdef _Output found = _Output()
    cdef int64_t first, count, step, left = most
    cdef int overflow = 0
    cdef uint8_t *p
    for run in runs:
        first = PyLong_AsLongLongAndOverflow(run[0], &overflow)
        if overflow or first < 0:
            return None
        count = PyLong_AsLongLongAndOverflow(run[1], &overflow)
        if overflow or count < 1 or count > left or first > LAST_OFFSET - count:
            return None
        left -= count
        p = found.reserve(8 * count)
        for step in range(count):
            memcpy(p + 8 * step, &first, 8)
            first += 1
    return found.finish()


# --- trace contexts --------------------------------------------------------------------------------------------------

cdef inline uint64_t hex_number(const uint8_t *p, int *bad) noexcept nogil:
    """Eight hexadecimal digits at once, one per byte of a 64-bit word. The standard allows lower case only."""
    cdef uint64_t text = <uint64_t>gq_get64(p)
    cdef uint64_t ones = 0x0101010101010101
    cdef uint64_t pairs = 0x00FF00FF00FF00FF
    cdef uint64_t fours = 0x0000FFFF0000FFFF
    cdef uint64_t x = (text & 15 * ones) + 9 * (text >> 6 & ones)
    # Formatting the result again gives the input exactly if all characters were digits.
    bad[0] |= (x & 240 * ones) != 0 or x + 48 * ones + 39 * (x + 6 * ones >> 4 & ones) != text
    x = (x | x >> 4) & pairs
    x = (x | x >> 8) & fours
    return (x | x >> 16) & <uint32_t>-1


cdef inline bint is_hex_digit(uint8_t c) noexcept nogil:
    return 48 <= c <= 57 or 97 <= c <= 102


cdef struct Context:
    uint64_t high
    uint64_t low
    uint64_t span
    uint8_t flags


cdef inline uint8_t hex_digit(uint8_t c) noexcept nogil:
    return c - 48 if c < 58 else c - 87


cdef inline bint is_traceparent(const uint8_t *p, int64_t size, Context *context) noexcept nogil:
    """Parse version-traceid-spanid-flags; False if the value is not valid."""
    cdef int bad = 0
    if size < 55 or p[2] != 45 or p[35] != 45 or p[52] != 45:
        return False
    if not (is_hex_digit(p[0]) and is_hex_digit(p[1]) and is_hex_digit(p[53]) and is_hex_digit(p[54])):
        return False
    # Version ff is invalid, version 00 ends here, and other versions may continue after a hyphen.
    if (p[0] == 102 and p[1] == 102) or (size > 55 and ((p[0] == 48 and p[1] == 48) or p[55] != 45)):
        return False
    context.high = hex_number(p + 3, &bad) << 32 | hex_number(p + 11, &bad)
    context.low = hex_number(p + 19, &bad) << 32 | hex_number(p + 27, &bad)
    context.span = hex_number(p + 36, &bad) << 32 | hex_number(p + 44, &bad)
    context.flags = hex_digit(p[53]) << 4 | hex_digit(p[54])
    return not bad and (context.high | context.low) != 0 and context.span != 0


cdef int put_context(_Output out, int64_t distance, const Context *context) except -1:
    """Append an entry in the layout of `goqueue.model.contexts`."""
    cdef uint8_t *p = out.reserve(33)
    gq_put64(p, distance)
    gq_put64(p + 8, <int64_t>context.high)
    gq_put64(p + 16, <int64_t>context.low)
    gq_put64(p + 24, <int64_t>context.span)
    p[32] = context.flags
    return 0


cdef int put_state(_Output out, int64_t distance, const uint8_t *state, int64_t size) except -1:
    """Append an entry in the layout of `goqueue.model.contexts`."""
    cdef uint8_t *p = out.reserve(10 + size)
    gq_put64(p, distance)
    gq_put16(p + 8, size)
    memcpy(p + 10, state, size)
    return 0


cdef struct Carried:
    int64_t parent
    int64_t parent_size
    int64_t state
    int64_t state_size


cdef bint find_carried(const uint8_t *p, int64_t size, Carried *carried) noexcept nogil:
    """Find positions and sizes of the last `traceparent` and the last `tracestate` in a headers block.

    False when there is no `traceparent`, or when a header is cut off.
    """
    cdef int64_t left = gq_get16(p)
    cdef int64_t at = 2
    cdef int64_t key_size, value_size
    carried.parent = -1
    carried.state_size = 0
    while left:
        if at + 4 > size:
            return False
        key_size = gq_get16(p + at)
        if at + 4 + key_size > size:
            return False
        value_size = gq_get16(p + at + 2 + key_size)
        if at + 4 + key_size + value_size > size:
            return False
        if key_size == 11 and memcmp(p + at + 2, b"traceparent", 11) == 0:
            carried.parent = at + 4 + key_size
            carried.parent_size = value_size
        elif key_size == 10 and memcmp(p + at + 2, b"tracestate", 10) == 0:
            carried.state = at + 4 + key_size
            carried.state_size = value_size
        at += 4 + key_size + value_size
        left -= 1
    return carried.parent >= 0


def contexts(buf, below=1 << 64):
    """The records that carry a W3C trace context, and of those the ones whose trace is sampled.

    A trace is sampled if the last 8 bytes of its id, as a number, are less than `below`. Raises CorruptBatch where
    there is no record; only the frames and the headers of records are read.
    """
    cdef Py_buffer view
    cdef Header h
    cdef const uint8_t *p
    cdef const uint8_t *block
    cdef int64_t position = 0
    cdef Py_ssize_t number = 0, carried = 0, first = 0
    cdef Carried where
    cdef Context context
    cdef bint everything = below >= 1 << 64
    cdef uint64_t limit = 0 if everything or below < 0 else below
    cdef int fault
    cdef _Output found = _Output()
    cdef _Output states = _Output()
    PyObject_GetBuffer(buf, &view, PyBUF_SIMPLE)
    try:
        while position < view.len:
            p = <const uint8_t *>view.buf + position
            if view.len - position < HEADER:
                raise _faults.corrupt(FAULT_SHORT_HEADER, buf, number, position)
            fault = header_fault(p, &h, True)
            if fault == 0 and h.size > view.len - position:
                fault = FAULT_SHORT_BODY
            if fault:
                raise _faults.corrupt(fault, buf, number, position)
            if h.headers:
                block = p + h.size - h.headers
                if find_carried(block, h.headers, &where) and is_traceparent(
                    block + where.parent, where.parent_size, &context
                ):
                    carried += 1
                    if everything or context.low < limit:
                        if found.used == 0:
                            first = number
                        put_context(found, number - first, &context)
                        if 0 < where.state_size <= LONGEST_STATE:
                            put_state(states, number - first, block + where.state, where.state_size)
            position += h.size
            number += 1
        return tuple.__new__(Contexts, (carried, first, found.finish(), states.finish()))
    finally:
        PyBuffer_Release(&view)
