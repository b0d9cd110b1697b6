from goqueue.gateways.native.connection cimport Exchange
from goqueue.gateways.native.publishing cimport Publishing


cdef class Handlers:
    cdef object _broker
    cdef object _traffic
    cdef Publishing _publishing
    cdef object _report_bug
    cdef object _waits
    cdef dict _routes

    cpdef take(self, Exchange connection, int opcode, int flags, long long correlation, head, tail)
