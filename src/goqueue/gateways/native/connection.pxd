cimport cython

from goqueue.wire.native.frames cimport frame_head
from goqueue.wire.native.reader cimport FrameProtocol


cdef class Exchange(FrameProtocol):
    cdef object _dispatch
    cdef object _limits
    cdef Py_ssize_t _most_requests
    cdef Py_ssize_t _most_bytes
    cdef object _home
    cdef dict _under_way
    cdef Py_ssize_t _bytes_under_way
    cdef bint _writing_paused
    cdef bint _reading_paused
    cdef bint _is_draining
    cdef object _now
    cdef bint _is_silent
    cdef double _last_heard_at
    cdef object _partial_since
    cdef Py_ssize_t _unread
    cdef double _unread_since
    cdef public set tasks
    cdef public bint has_greeted
    cdef public bint is_closing
    cdef public object client

    cpdef bint _take_frame(self, int opcode, int flags, long long correlation, head, tail) except -1
    cpdef reply(self, int opcode, long long correlation, bytes head, tail=*)
    cpdef refuse(self, int opcode, long long correlation, error)
    cpdef finish(self, long long correlation)
    cdef _read_on(self)
    cdef _note_partial(self)
    cdef _hang_up(self, why)
    cdef _note_unread(self)
    cdef _balance(self)
    cdef bint _leaves_replies(self, double now, double within_s) except -1
