cdef class Room:
    cdef public Py_ssize_t limit
    cdef list _waiting
    cdef public Py_ssize_t taken

    cpdef bint is_full(self, Py_ssize_t wanted=*) except -1
    cpdef take(self, Py_ssize_t count)
    cpdef give_back(self, Py_ssize_t count)
