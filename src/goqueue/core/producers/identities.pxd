# Integers sent by clients may have any size, so they are not C integers.


cdef class ProducerIdentities:
    cdef object _next_id
    cdef object _epochs

    cpdef check(self, producer_id, epoch)
