cimport cython


cdef class Pending:
    cdef public long long next_offset
    cdef public bint confirmed


cdef class Watermark:
    cdef public long long offset
    cdef object _pending

    cpdef Pending begin(self, long long next_offset)
    @cython.locals(first=Pending)
    cpdef bint confirm(self, Pending pending) except -1
    cpdef refuse(self, Pending pending)
