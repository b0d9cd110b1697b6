cimport cython

from goqueue.client.batch cimport Batch, Delivery
from goqueue.client.lane cimport Lane
from goqueue.client.partitioner cimport TopicPartitioner
from goqueue.client.room cimport Room


cdef class Accumulator:
    cdef object _link
    cdef public object lane_settings
    cdef object _scope
    cdef Room _room
    cdef Py_ssize_t _batch_records
    cdef Py_ssize_t _batch_bytes
    cdef double _linger_s
    cdef double _timeout_s
    cdef public dict topics
    cdef dict _open
    cdef dict _lanes
    cdef public set unfinished
    cdef public object failures
    cdef public bint is_closed

    cpdef check(self)
    @cython.locals(batch=Batch, number=Py_ssize_t, place=tuple)
    cpdef Delivery add(self, TopicPartitioner partitioner, partition, record, record_id, due)
    @cython.locals(earlier=Batch)
    cpdef send_at_once(self, Batch batch, Py_ssize_t count)
    cpdef Batch new_batch(self, topic, partition, encoded=*, Py_ssize_t count=*)
    @cython.locals(lane=Lane)
    cdef _linger(self, tuple place, Batch batch)
    cpdef _lingered(self, tuple place, Batch batch)
    @cython.locals(partitioner=TopicPartitioner)
    cdef _close_batch(self, tuple place, Batch batch)
    @cython.locals(lane=Lane)
    cdef _hand_over(self, tuple place, Batch batch)
    cpdef _finished(self, Batch batch, error)


cpdef bint is_plain(record, topic) except -1
