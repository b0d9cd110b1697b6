# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The inner loop of the fuzzer: bends records, runs the codec over them and checks what it says for consistency.

Every input lies in a malloc'ed block of exactly its size, so that AddressSanitizer sees a read or write past its end. An
input that takes a new path through the codec joins the corpus that later inputs are made from.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memmove, memset

from goqueue.codec import faults, record, record_py
from goqueue.errors import CorruptBatch, GoQueueError

cdef extern from "crc32c.h" nogil:
    void gq_crc_init()
    uint32_t gq_crc32c(uint32_t crc, const uint8_t *p, size_t n)
    uint16_t gq_get16(const uint8_t *p)
    uint32_t gq_get32(const uint8_t *p)
    void gq_put16(uint8_t *p, uint16_t x)
    void gq_put32(uint8_t *p, uint32_t x)
    void gq_put64(uint8_t *p, int64_t x)

gq_crc_init()

cdef enum:
    ROOM = 1 << 18
    USUAL = 1500
    CORPUS = 4096
    KEPT = 3000
    HEADER = 34

cdef uint64_t[12] INTERESTING = [
    0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x8000000000000000,
]
# Bytes at the edges of what UTF-8 allows.
cdef uint8_t[20] UTF8 = [
    0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xED, 0xEF, 0xF0, 0xF3, 0xF4, 0xF5, 0xFF,
]
cdef uint8_t[9] FIELD_AT = [2, 3, 8, 16, 24, 25, 26, 28, 32]
cdef uint8_t[9] FIELD_SIZE = [1, 1, 8, 8, 1, 1, 2, 4, 2]


cdef class Exact:
    """A writable buffer over a malloc'ed block of exactly `size` bytes."""

    cdef uint8_t *data
    cdef Py_ssize_t size
    cdef int views

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.data, self.size, 0, flags)
        self.views += 1

    def __releasebuffer__(self, Py_buffer *view):
        self.views -= 1

    def __dealloc__(self):
        free(self.data)

    cdef int fill(self, const uint8_t *source, Py_ssize_t size) except -1:
        assert self.views == 0, "the codec kept a view of a buffer"
        free(self.data)
        self.size = size
        self.data = <uint8_t *>malloc(size)
        if self.data == NULL:
            raise MemoryError
        memcpy(self.data, source, size)
        return 0


def cheap_corrupt(fault, buf, number, position, *, client=False):
    """Stands in for the wording of most errors, which takes longer than finding them."""
    return CorruptBatch.__new__(CorruptBatch)


class Disagreement(AssertionError):
    """The codec contradicted itself or its twin."""


cdef class Fuzzer:
    """`shared` is memory that outlives a crash: five u64 counters, the size of the current input, the input."""

    cdef uint64_t state
    cdef uint64_t *edges
    cdef uint64_t edges_before
    cdef uint8_t *work
    cdef Py_ssize_t size
    cdef uint8_t *corpus[CORPUS]
    cdef Py_ssize_t sizes[CORPUS]
    cdef int entries
    cdef list seeds
    cdef Py_buffer shared
    cdef uint64_t *counters
    cdef readonly uint64_t inputs, accepted, stamped, found
    cdef object exact, wording

    def __cinit__(self, seed, edges_address, shared, seeds):
        self.state = <uint64_t>((seed * 0x9E3779B97F4A7C15 + 1) & 0xFFFFFFFFFFFFFFFF)
        self.edges = <uint64_t *><size_t>edges_address
        self.work = <uint8_t *>malloc(ROOM)
        self.exact = Exact()
        self.wording = faults.corrupt
        self.seeds = seeds
        PyObject_GetBuffer(shared, &self.shared, PyBUF_SIMPLE | PyBUF_WRITABLE)
        self.counters = <uint64_t *>self.shared.buf
        for data in seeds:
            if len(data) <= KEPT:
                self.keep(<const uint8_t *><char *>data, len(data))

    def __dealloc__(self):
        free(self.work)
        for i in range(self.entries):
            free(self.corpus[i])
        PyBuffer_Release(&self.shared)

    # --- chance

    cdef inline uint64_t draw(self, uint64_t below) noexcept:
        self.state ^= self.state >> 12
        self.state ^= self.state << 25
        self.state ^= self.state >> 27
        return (self.state * <uint64_t>0x2545F4914F6CDD1D >> 32) % below if below else 0

    # --- the corpus

    cdef void keep(self, const uint8_t *data, Py_ssize_t size):
        cdef int slot = self.entries
        if slot == CORPUS:
            slot = <int>self.draw(CORPUS)
            free(self.corpus[slot])
        else:
            self.entries += 1
        self.corpus[slot] = <uint8_t *>malloc(size)
        self.sizes[slot] = size
        memcpy(self.corpus[slot], data, size)

    cdef void begin(self):
        cdef int pick
        if self.draw(4096) == 0:
            data = self.seeds[self.draw(len(self.seeds))]
            self.size = len(data)
            memcpy(self.work, <char *>data, self.size)
            return
        pick = <int>self.draw(self.entries)
        self.size = self.sizes[pick]
        memcpy(self.work, self.corpus[pick], self.size)

    # --- bending

    cdef Py_ssize_t start_of_one(self) noexcept:
        """The start of some record, as the lengths in the bytes have it."""
        cdef Py_ssize_t position = 0
        cdef int hops = <int>self.draw(6)
        cdef Py_ssize_t size
        while hops and position + HEADER <= self.size:
            size = HEADER + gq_get16(self.work + position + 26) + gq_get32(self.work + position + 28)
            size += gq_get16(self.work + position + 32)
            if position + size + HEADER > self.size:
                break
            position += size
            hops -= 1
        return position

    cdef void put(self, Py_ssize_t at, int width, uint64_t number) noexcept:
        cdef int i
        for i in range(width):
            if at + i < self.size:
                self.work[at + i] = <uint8_t>(number >> (8 * (width - 1 - i)))

    cdef uint64_t number(self) noexcept:
        if self.draw(3) == 0:
            return self.draw(70)
        if self.draw(2):
            return INTERESTING[self.draw(12)] + self.draw(3) - 1
        return self.draw(1 << 32) << self.draw(33)

    cdef void insert(self, Py_ssize_t at, const uint8_t *data, Py_ssize_t size) noexcept:
        if size <= 0 or self.size + size > ROOM or (self.size < USUAL and self.size + size > 2 * USUAL):
            return
        memmove(self.work + at + size, self.work + at, self.size - at)
        memcpy(self.work + at, data, size)
        self.size += size

    cdef void bend(self) noexcept:
        cdef Py_ssize_t at = self.draw(self.size)
        cdef Py_ssize_t size = self.draw(1 + self.draw(60))
        cdef Py_ssize_t start
        cdef int kind = <int>self.draw(17)
        cdef int field, width
        cdef uint8_t piece[64]
        if kind == 0 and self.size:
            self.work[at] ^= <uint8_t>(1 << self.draw(8))
        elif kind == 1 and self.size:
            self.work[at] = <uint8_t>self.draw(256)
        elif kind == 2:
            width = 1 << <int>self.draw(4)
            self.put(at, width, self.number())
        elif kind <= 7:
            start = self.start_of_one()
            field = <int>self.draw(9)
            self.put(start + FIELD_AT[field], FIELD_SIZE[field], self.number())
        elif kind == 8:
            # A length field one off, with all else as it was.
            start = self.start_of_one()
            field = 6 + <int>self.draw(3)
            at = start + FIELD_AT[field] + FIELD_SIZE[field] - 1
            if at < self.size:
                self.work[at] += 1 if self.draw(2) else 255
        elif kind == 9 or kind == 16:
            # Somewhere in the headers block.
            start = self.start_of_one()
            if start + HEADER <= self.size:
                start += HEADER + gq_get16(self.work + start + 26) + gq_get32(self.work + start + 28)
                if self.draw(2):
                    self.put(start + self.draw(16), 1 + self.draw(2), self.number())
                else:
                    for field in range(1 + self.draw(4)):
                        self.put(start + 4 + self.draw(8), 1, UTF8[self.draw(20)])
        elif kind == 10:
            self.size = at
        elif kind == 11 and self.size:
            size = min(size, self.size - at)
            memmove(self.work + at, self.work + at + size, self.size - at - size)
            self.size -= size
        elif kind == 12:
            size = min(size, 64)
            memset(piece, <int>self.draw(256), 64)
            self.insert(at, piece, size)
        elif kind == 13:
            start = self.draw(self.size)
            size = min(min(size, 64), self.size - start)
            memcpy(piece, self.work + start, size)
            self.insert(at, piece, size)
        elif kind == 14:
            field = <int>self.draw(self.entries)
            start = self.draw(self.sizes[field])
            self.insert(at if self.draw(2) else self.size, self.corpus[field] + start, self.sizes[field] - start)
        else:
            field = <int>self.draw(self.entries)
            self.insert(self.size if self.draw(2) else 0, self.corpus[field], self.sizes[field])

    cdef void mend(self, bint flags, bint lengths, bint rising) noexcept:
        """Makes what is easily told apart fit again, so that what lies behind it is reached."""
        cdef Py_ssize_t position = 0
        cdef int64_t offset = self.draw(100)
        cdef int64_t size, over
        cdef uint8_t *p
        while self.size - position >= HEADER:
            p = self.work + position
            size = HEADER + gq_get16(p + 26) + <int64_t>gq_get32(p + 28) + gq_get16(p + 32)
            over = size - (self.size - position)
            if over > 0 and lengths:
                # The value gives way where it can.
                if gq_get32(p + 28) < over:
                    return
                gq_put32(p + 28, <uint32_t>(gq_get32(p + 28) - over))
                size -= over
                over = 0
            if over > 0:
                return
            if flags:
                p[3] &= 0x3F
                p[3] = <uint8_t>(p[3] | 2 if gq_get16(p + 32) else p[3] & ~2)
                p[25] = p[3]
            if rising:
                gq_put64(p + 8, offset)
                offset += 1 + self.draw(3)
            gq_put32(p + 4, gq_crc32c(0, p + 8, size - 8))
            position += size

    # --- running

    cdef object attempt(self, function):
        try:
            return function(self.exact)
        except GoQueueError:
            return None

    cdef int check(self) except -1:
        cdef Exact exact = self.exact
        cdef Py_ssize_t size = self.size
        cdef Py_ssize_t start = self.draw(size + 1)
        exact.fill(self.work, size)

        scanned = record.scan(exact)
        if scanned.end > size or (scanned.stop == "end") != (scanned.end == size):
            raise Disagreement(f"scan ends at {scanned.end} of {size} with {scanned.stop}")
        # A refusal costs more than all the rest, so what is likely to be refused is not offered to both every time.
        records = columns = None
        turn = 3 if scanned.stop == "end" else self.inputs % 4
        if turn & 1:
            records = self.attempt(record.decode)
        if turn & 2:
            columns = self.attempt(record.columns)
        if turn == 3 and (records is None) != (columns is None):
            raise Disagreement("decode and columns disagree about whether the bytes are records")
        if records is not None:
            self.accepted += 1
            if columns is not None and columns.length != len(records):
                raise Disagreement("decode and columns count differently")
            if record.encode(records) != self.work[:size]:
                raise Disagreement("the records do not encode to the bytes they were decoded from")
            if scanned.stop == "end" and scanned.count != len(records):
                raise Disagreement("decode and scan count differently")

        walked = record.seek(exact, self.draw(64) if self.draw(2) else 1 << 63)
        if walked[1] < 0 and walked[0] < scanned.end:
            raise Disagreement("seek does not get as far as scan")
        if self.inputs % 2:
            record.seek_time(exact, self.draw(1 << 32), start)
        indexed = record.index_entries(exact, 100, self.draw(300), 1 + self.draw(200), -1)
        if len(indexed.offsets) != len(indexed.times) or len(indexed.offsets) % 16:
            raise Disagreement("the index entries do not pair up")
        if indexed.max_timestamp_ns < scanned.max_timestamp_ns:
            raise Disagreement("the index missed a timestamp")

        if self.draw(2):
            start = 0
        found = record.find_next(exact, start, 0, (1 << 63) - 1)
        if found >= 0:
            self.found += 1
            if found < start or record.scan(exact, found).count < 1:
                raise Disagreement("find_next found what scan does not accept")
        if start == 0 and scanned.count and found != 0:
            raise Disagreement("find_next missed the first record")

        if self.inputs % 8 == 0:
            latest = {}
            try:
                reached = record.latest_by_key(exact, latest, 3)
                if len(record.retain_latest(exact, latest, 1 << 62)) > size or reached > size:
                    raise Disagreement("compaction made the log longer")
            except GoQueueError:
                pass
        if self.inputs % 512 == 0:
            self.compare()

        try:
            stamped = record.stamp(exact, 1000, 5000, self.inputs & 1)
        except GoQueueError:
            if records:
                raise Disagreement("stamp refuses what decode accepts") from None
        else:
            self.stamped += 1
            again = record.scan(exact)
            if again.stop != "end" or again.count != stamped.count or again.first_offset != 1000:
                raise Disagreement("a stamped batch does not scan")
            if len(record.decode(exact)) != stamped.count:
                raise Disagreement("a stamped batch does not decode")
        return 0

    cdef int compare(self) except -1:
        """The Python twin must say the same, down to the words."""
        faults.corrupt = self.wording
        data = self.work[:self.size]
        for name, arguments in (
            ("scan", ()),
            ("decode", ()),
            ("columns", ()),
            ("find_next", (self.draw(self.size + 1), 0, 1 << 62)),
            ("seek", (self.draw(64),)),
            ("seek_time", (self.draw(64),)),
            ("index_entries", (0, 0, 64, -1)),
            ("retain_latest", ({}, 0)),
        ):
            if told(record, name, data, arguments) != told(record_py, name, data, arguments):
                raise Disagreement(f"the compiled {name} and its twin disagree")
        if stamp_told(record, data) != stamp_told(record_py, data):
            raise Disagreement("the compiled stamp and its twin disagree")
        faults.corrupt = cheap_corrupt
        return 0

    def run(self, uint64_t inputs):
        """Runs `inputs` inputs; the current one is in the shared memory all the while."""
        cdef uint64_t i, before
        cdef int steps
        cdef uint8_t *current = <uint8_t *>(self.counters + 8)
        for i in range(inputs):
            self.begin()
            steps = 1 << <int>self.draw(4)
            while steps:
                self.bend()
                steps -= 1
            if self.draw(4):
                self.mend(self.draw(2), self.draw(4) == 0, self.draw(2))
            self.counters[7] = self.size
            memcpy(current, self.work, self.size)
            faults.corrupt = cheap_corrupt if i % 16 else self.wording
            before = self.edges[0]
            self.check()
            self.inputs += 1
            if self.edges[0] != before and self.size <= KEPT:
                self.keep(self.work, self.size)
            self.counters[0] = self.inputs
            self.counters[1] = self.accepted
            self.counters[2] = self.stamped
            self.counters[3] = self.found
            self.counters[4] = self.entries
            self.counters[5] = self.edges[0]

    def replay(self, bytes data):
        """Runs one given input."""
        self.size = len(data)
        memcpy(self.work, <char *>data, self.size)
        faults.corrupt = self.wording
        self.inputs = 0
        self.check()


def told(codec, name, data, arguments):
    try:
        return getattr(codec, name)(data, *arguments)
    except GoQueueError as error:
        return type(error), error.message, getattr(error, "position", None)


def stamp_told(codec, data):
    batch = bytearray(data)
    try:
        return codec.stamp(batch, 7, 8, True), batch
    except GoQueueError as error:
        return type(error), error.message, getattr(error, "position", None)
