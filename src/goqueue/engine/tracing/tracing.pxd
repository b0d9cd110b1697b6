cdef class Tracing:
    cdef public object settings
    cdef public bint is_on
    cdef object _rate
    cdef public object clock
    cdef public object started_ns
    cdef public object ring
    cdef public object carried
    cdef public Py_ssize_t recorded
    cdef public Py_ssize_t sampled_out
    cdef public Py_ssize_t dropped
    cdef public Py_ssize_t under_way
    cdef tuple _sinks

    cpdef bint leaves_out(self, topic, Py_ssize_t records) except -1
