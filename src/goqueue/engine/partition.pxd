cimport cython

from goqueue.core.partition.watermark cimport Pending, Watermark
from goqueue.core.producers.window cimport ProducerWindow
from goqueue.engine.group_commit cimport GroupCommit
from goqueue.engine.joint_append cimport JointAppend


cdef class ProducerBatch:
    # What clients send: any integer, so none of C.
    cdef public object producer_id
    cdef public object epoch
    cdef public object sequence


cdef class Partition:
    cdef public object topic
    cdef public object id
    cdef public object tally
    cdef public object log
    cdef public ProducerWindow producers
    cdef public object lanes
    cdef public object enqueued
    cdef public object delays
    cdef public object outcomes
    cdef object _alarm
    cdef GroupCommit _commit
    cdef object _clock
    cdef object _now_ns
    cdef object _state_log
    cdef object _streams
    cdef str _stream
    cdef str _lanes_stream
    cdef str _delays_stream
    cdef str _outcomes_stream
    cdef long long _next_offset
    cdef public bint is_closed
    cdef bint _has_strayed
    cdef Watermark _watermark
    cdef long long _newest_ns
    cdef public set _watchers
    cdef public list held
    cdef Py_ssize_t _held_bytes
    cdef Py_ssize_t _refused
    cdef JointAppend _joint
    cdef object __weakref__

    @cython.locals(now="long long", base="long long", added="long long", largest_value="long long", flags=int, by=ProducerBatch)
    cpdef append(
        self,
        bytearray batch,
        done,
        bint durable,
        long long max_value_bytes=*,
        ProducerBatch producer=*,
        ids=*,
        dues=*,
    )
    @cython.locals(joint=JointAppend, size=Py_ssize_t)
    cdef _append_plain(self, bytearray records, batch, bint is_numbered, long long next_offset, done, bint durable)
    @cython.locals(joint=JointAppend)
    cdef JointAppend _begin_joint(self, Py_ssize_t size, bint durable)
    cpdef tuple _close_joint(self, JointAppend joint)
    @cython.locals(count="long long", moved=bint)
    cpdef _finish_joint(self, JointAppend joint, refusal)
    cdef _refuse(self, Pending pending)
    cdef _tell_watchers(self)
