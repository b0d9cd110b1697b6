cimport cython

from goqueue.engine.intake cimport Intake
from goqueue.engine.partition cimport ProducerBatch
from goqueue.engine.publish cimport PublishBatch, publish
from goqueue.engine.traffic cimport Meter
from goqueue.gateways.native.connection cimport Exchange


cdef class Publishing:
    cdef Intake _broker
    cdef Meter _meter
    cdef object _now_ns

    @cython.locals(producer=ProducerBatch, request=PublishBatch, one=_Asked)
    cpdef take(self, Exchange connection, int flags, long long correlation, head, tail)


@cython.freelist(64)
cdef class _Asked:
    cdef Meter _meter
    cdef Exchange _connection
    cdef long long _correlation
    cdef object _now_ns
    cdef long long _began_ns

    cpdef answer(self, result)
    cpdef finish(self, result)
    cdef _note(self, str outcome)


cdef _reply(result)
