cimport cython

from goqueue.engine.intake cimport Intake
from goqueue.engine.partition cimport Partition, ProducerBatch
from goqueue.engine.tracing.tracing cimport Tracing


@cython.freelist(64)
cdef class PublishBatch:
    cdef public object topic
    cdef public object partition
    cdef public bytearray records
    cdef public object durability
    cdef public ProducerBatch producer
    cdef public object ids
    cdef public object partitions
    cdef public object dues
    cdef public object transaction
    cdef public bint is_checked


@cython.freelist(64)
cdef class _Publishing:
    cdef Intake _broker
    cdef PublishBatch _request
    cdef object _reply
    cdef long long _start_ns
    cdef bint _is_checked
    cdef Partition _partition
    cdef object _topic
    cdef object _written

    cpdef go(self)
    @cython.locals(partition=Partition, producer=ProducerBatch)
    cdef _go(self, Intake broker, PublishBatch request)
    cpdef _go_on_checked(self)
    cpdef _done(self, refusal)
    cpdef _refuse(self, refusal)
    @cython.locals(tracing=Tracing)
    cdef _answer(self, result)


cdef _published(Partition partition, batch, bint duplicate)
cpdef publish(Intake broker, PublishBatch request, reply)
