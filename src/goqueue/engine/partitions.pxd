cimport cython

from goqueue.engine.partition cimport Partition


cdef class Partitions:
    cdef dict _topics

    cpdef tuple of(self, name)
    @cython.locals(partitions=tuple)
    cpdef Partition find(self, name, number)
