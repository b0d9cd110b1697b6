from goqueue.core.producers.identities cimport ProducerIdentities
from goqueue.engine.partitions cimport Partitions
from goqueue.engine.schemas.rules cimport ValueRules
from goqueue.engine.tracing.tracing cimport Tracing


cdef class Intake:
    cdef public object clock
    cdef public object now_ns
    cdef public Partitions opened
    cdef public ProducerIdentities producer_ids
    cdef public ValueRules value_rules
    cdef public object guard
    cdef public Tracing tracing
