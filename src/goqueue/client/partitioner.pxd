cdef class TopicPartitioner:
    cdef public object topic
    cdef public object name
    cdef object _ranges
    cdef object _by_key
    cdef bint _in_turns
    cdef Py_ssize_t _current
    cdef Py_ssize_t _count

    cpdef check(self, partition)
    cpdef pick(self, key, partition)
    cpdef chosen_among(self, key, partition)
    cpdef Py_ssize_t move_on(self) except -1
    cpdef batch_left(self, Py_ssize_t partition)
