cimport cython

from goqueue.adapters.disk.segment cimport Segment


cdef class DiskLog:
    cdef object _files
    cdef object _open_segments
    cdef object _observer
    cdef public str folder
    cdef public object id
    cdef public bytes name
    cdef long long _segment_bytes
    cdef tuple _segments
    cdef tuple _good
    cdef bint _merging
    cdef bint _has_new_names
    cdef public bint removed
    cdef public object failure
    cdef public bint sync_failed
    cdef public long long clean_before
    cdef public long long clean_horizon_ns
    cdef public long long synced_before
    cdef public long long merged_lsn
    cdef object __weakref__

    @cython.locals(last=Segment)
    cpdef bint takes(self, records) except -1
    @cython.locals(last=Segment)
    cpdef tuple stage(self, records, long long next_offset)
    @cython.locals(last=Segment)
    cpdef flush(self)
    @cython.locals(last=Segment)
    cpdef confirm(self)
