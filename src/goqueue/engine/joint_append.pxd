from goqueue.core.partition.watermark cimport Pending
from goqueue.engine.group_commit cimport Submitted


cdef class JointAppend:
    cdef list _parts
    cdef list _dones
    cdef public list batches
    cdef public list numbered
    cdef public Pending pending
    cdef public bint durable
    cdef public Py_ssize_t size
    cdef public Submitted waiting

    cpdef add(self, bytearray records, batch, bint is_numbered, long long next_offset, done)
    cpdef take_records(self)
    cpdef tell(self, refusal)
