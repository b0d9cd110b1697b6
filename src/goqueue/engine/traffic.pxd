from goqueue.engine.histogram cimport Histogram


cdef class Meter:
    cdef public Py_ssize_t ok
    cdef public Py_ssize_t refused
    cdef public Py_ssize_t failed
    cdef public Histogram seconds

    cpdef count(self, str outcome)
    cpdef took(self, long long duration_ns)
