cimport cython


cdef class Histogram:
    cdef public tuple bounds
    cdef public list counts
    cdef public double total

    @cython.locals(at=Py_ssize_t, bounds=tuple)
    cpdef add(self, double value)
