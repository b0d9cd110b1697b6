cimport cython

from goqueue.adapters.disk.segment_index cimport SegmentIndex


cdef class _Opened:
    cdef public object file
    cdef public SegmentIndex entries


cdef class Segment:
    cdef object _files
    cdef str _stem
    cdef public object info
    cdef _Opened _opened
    cdef list _staged
    cdef object _written
    cdef Py_ssize_t _settled
    cdef bint _unsynced
    cdef bint _sealed
    cdef bint _forgotten
    cdef object _side_files
    cdef object _open_segments
    cdef dict _failed_reads
    cdef public object lost

    @cython.locals(opened=_Opened)
    cpdef tuple stage(self, records, long long next_offset)
    @cython.locals(opened=_Opened)
    cpdef flush(self)
    @cython.locals(opened=_Opened)
    cdef _Opened _open(self)
    @cython.locals(opened=_Opened)
    cdef _Opened _reopened(self)
