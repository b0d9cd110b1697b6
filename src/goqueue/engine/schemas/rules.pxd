cdef class ValueRules:
    cdef object _registry
    cdef object _revision
    cdef object _purges
    cdef dict _rules
    cdef object _payloads
    cdef public dict making

    cpdef of(self, topic)
    cdef _of_subject(self, str subject)
    cdef _find(self, str subject)
    cdef _keep_up(self)
