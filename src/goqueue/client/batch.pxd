cimport cython


cdef class Batch:
    cdef object _encoded
    cdef object _outcome
    cdef list _waiting
    cdef public Py_ssize_t count
    cdef public double deadline
    cdef public object dues
    cdef public bint error_was_seen
    cdef public object ids
    cdef public bint is_in_doubt
    cdef public object partition
    cdef public object partitions
    cdef public object records
    cdef public object sequence
    cdef public Py_ssize_t size
    cdef public object topic
    cdef public object transaction

    cpdef Py_ssize_t add(self, record, record_id, due=*) except -1
    cpdef fill(self, records)
    cpdef seal(self)
    cpdef bytes encoded(self)
    cpdef wait(self)
    cpdef succeed(self, outcome)
    cpdef fail(self, error)
    cdef _end(self, outcome)
    cpdef outcome(self)
    cpdef sent(self, Py_ssize_t number)


cdef class Delivery:
    cdef Batch _batch
    cdef Py_ssize_t _number

    cpdef result(self)
