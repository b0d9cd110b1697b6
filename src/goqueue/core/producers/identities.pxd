# Numbers of producers are what clients send: any integer, so none of C.


cdef class ProducerIdentities:
    cdef object _next_id
    cdef object _epochs

    cpdef check(self, producer_id, epoch)
