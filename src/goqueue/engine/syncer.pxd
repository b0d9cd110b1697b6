cimport cython


cdef class Syncer:
    cdef object _storage
    cdef object _clock
    cdef public object seconds
    cdef object _loop
    cdef object _requests
    cdef bint _is_asked
    cdef public long long usual_ns
    cdef public object now_ns
    cdef Py_ssize_t _unanswered
    cdef object _thread
    cdef public bint may_run_here
    cdef public object done

    @cython.locals(took_ns="long long")
    cpdef run_here(self)
    cpdef ask(self)
    cdef tuple _sync(self)
    cdef _note(self, long long took_ns)
    cdef _look(self)
