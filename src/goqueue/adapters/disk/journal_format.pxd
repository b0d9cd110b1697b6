cimport cython


cpdef list encode_records(bytes name, long long base_offset, long long position, long long next_offset, records)
@cython.locals(length=Py_ssize_t, crc=object)
cpdef list encode_frame(list parts, Py_ssize_t operations, nonce, long long lsn, long long durable_lsn)
