cimport cython

from goqueue.wire.native.frames cimport encode_frame


cdef class DirectConnection:
    cdef public bint is_lost
    cdef str _address
    cdef long long _correlation
    cdef bytearray _received
    cdef object _socket
    cdef public Py_ssize_t max_frame_bytes
    cdef double _within_s

    @cython.locals(correlation="long long", answered="long long", flags=int)
    cpdef request(self, opcode, bytes head, bytes tail, decode)
    @cython.locals(filled=Py_ssize_t, size=Py_ssize_t, count=Py_ssize_t)
    cdef tuple _receive(self)
    cdef _unreachable(self, why)
