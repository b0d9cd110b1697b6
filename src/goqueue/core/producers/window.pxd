cimport cython

# Integers sent by clients may have any size, so they are not C integers.


cdef class _Producer:
    cdef public object epoch
    cdef public object next_sequence
    cdef public object batches


cdef class ProducerWindow:
    cdef object _producers

    @cython.locals(known=_Producer)
    cpdef check(self, producer_id, epoch, sequence)
    @cython.locals(known=_Producer)
    cpdef remember(self, batch)
    @cython.locals(known=_Producer)
    cpdef undo(self, batch)
