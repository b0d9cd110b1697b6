from goqueue.wire.native.frames cimport frame_head
from goqueue.wire.native.reader cimport FrameProtocol


cdef class Questions(FrameProtocol):
    cdef str _address
    cdef dict _waiting
    cdef long long _last_correlation
    cdef str _why_lost
    cdef object _can_write
    cdef public object lost
    cdef public bint is_lost
    cdef public Py_ssize_t max_frame_bytes
    cdef object __weakref__

    cpdef send(self, opcode, bytes head, tail, answered)
    cpdef tell(self, opcode, bytes head, tail)
    cdef long long _next_correlation(self) except -1
    cdef _write(self, bytes head, tail)
    cpdef bint _take_frame(self, int opcode, int flags, long long correlation, head, tail) except -1
    cdef _unreachable(self)
