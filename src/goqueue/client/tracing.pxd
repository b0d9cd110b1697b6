cpdef tuple current_context()
cpdef tuple with_context(tuple headers)
