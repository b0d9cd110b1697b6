cimport cython

from goqueue.engine.syncer cimport Syncer


cdef class Submitted:
    cdef public object entry
    cdef public Py_ssize_t size
    cdef public bint durable
    cdef public object written
    cdef public object done


cdef class _Unsynced:
    cdef long long lsn
    cdef object done


cdef class GroupCommit:
    cdef object _storage
    cdef object _loop
    cdef object _writer
    cdef Syncer _syncer
    cdef object _pending
    cdef Py_ssize_t _pending_bytes
    cdef object _between
    cdef object _unsynced
    cdef bint _scheduled
    cdef bint _will_sync
    cdef bint _writing
    cdef object _idle
    cdef long long _synced_lsn
    cdef Py_ssize_t _unsynced_bytes
    cdef Py_ssize_t _waiting
    cdef Py_ssize_t _expected
    cdef long long _waiting_since
    cdef bint _is_noted
    cdef public object first_write
    cdef public object group_sizes

    cpdef Submitted submit(self, entry, Py_ssize_t size, done, bint durable, written=*)
    cpdef grow(self, Submitted submitted, Py_ssize_t size)
    cdef _check_room(self, Py_ssize_t size)
    cdef _schedule(self)
    @cython.locals(waiting=Submitted, size=Py_ssize_t)
    cpdef _write_next(self)
    cdef bint _waits_for_others(self) except -1
    @cython.locals(waiting=Submitted, size=Py_ssize_t)
    cdef tuple _take_group(self)
    @cython.locals(waiting=Submitted)
    cdef _written(self, list group, list outcomes, Py_ssize_t size)
    @cython.locals(waiting=Submitted)
    cdef bint _is_waited_for(self, list group) except -1
    cdef _nothing_pending(self)
    cdef _sync_soon(self)
    @cython.locals(size=Py_ssize_t)
    cdef bint _may_sync_here(self, Py_ssize_t more) except -1
    cdef _ask_thread(self)
    cpdef _sync_here(self)
    @cython.locals(waiting=_Unsynced)
    cpdef _synced(self, result)
