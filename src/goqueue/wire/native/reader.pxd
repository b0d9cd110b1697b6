cimport cython

cdef Py_ssize_t _HEAD_SIZE
cdef Py_ssize_t _LENGTH_SIZE
cdef Py_ssize_t _LEAST


cdef class FrameProtocol:
    cdef object _scratch
    cdef Py_ssize_t _max_frame_bytes
    cdef object _partial
    cdef Py_ssize_t _filled
    cdef bint _held
    cdef public object _transport

    cpdef bint _take_frame(self, int opcode, int flags, long long correlation, head, tail) except -1
    cpdef _received(self, Py_ssize_t count)
    cpdef _kept(self, data)
    cpdef _take_held(self)
    @cython.locals(start=Py_ssize_t, wanted=bint, length=Py_ssize_t, opcode=int, flags=int, correlation="long long",
                   head_length=Py_ssize_t, end=Py_ssize_t, head=Py_ssize_t, tail=Py_ssize_t)
    cdef _cut(self, data, Py_ssize_t size)
    cdef _keep(self, rest)
