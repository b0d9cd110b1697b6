cimport cython


cdef class Journal:
    cdef object _files
    cdef str _folder
    cdef object _entropy
    cdef long long _file_bytes
    cdef list _full
    cdef list _spare
    cdef object _next
    cdef object _names
    cdef long long _sequence
    cdef long long _last_sequence
    cdef long long _capacity
    cdef object _nonce
    cdef long long _position
    cdef long long _begun_position
    cdef list _staged
    cdef long long _staged_bytes
    cdef long long _staged_lsn
    cdef public long long written_lsn
    cdef public long long durable_lsn
    cdef object _unsynced

    cpdef make_room(self, long long length, long long kept=*)
    @cython.locals(lsn="long long")
    cpdef stage(self, list parts, Py_ssize_t operations)
    @cython.locals(size="long long", staged=list)
    cpdef flush(self)
    @cython.locals(begun="long long")
    cpdef begin_sync(self)
