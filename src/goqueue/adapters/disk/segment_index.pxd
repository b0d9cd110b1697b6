cdef class SegmentIndex:
    cdef object _files
    cdef str _stem
    cdef object _offsets
    cdef object _times
    cdef long long _next_at
    cdef Py_ssize_t _entries_on_disk

    cpdef long long add(self, records, long long position, long long max_timestamp_ns) except? -1
