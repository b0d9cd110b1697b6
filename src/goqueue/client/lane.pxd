cimport cython

from goqueue.client.batch cimport Batch


cdef class Lane:
    cdef object _topic
    cdef object _partition
    cdef object _link
    cdef object _settings
    cdef object _finished
    cdef object _queue
    cdef object _under_way
    cdef list _failed
    cdef bint _needs_identity
    cdef object _identity
    cdef bint _is_known
    cdef object _next_sequence
    cdef double _pause_s
    cdef object _recovery
    cdef object _alarm
    cdef object _failure
    cdef bint _is_closed
    cdef bint _wants_replies
    cdef object _durability

    cpdef bint is_idle(self) except -1
    cpdef add(self, Batch batch)
    cdef _pump(self)
    @cython.locals(records=bytes)
    cdef _send(self, connection, Batch batch)
    cdef _tell(self, connection, Batch batch)
    @cython.locals(most=Py_ssize_t)
    cdef bint _fits(self, connection, Batch batch, bytes records) except -1
    cpdef _answered(self, Batch batch, error, head, _)
    cdef _fail(self, Batch batch, error)
    cdef _recover(self)
