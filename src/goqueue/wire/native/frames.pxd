cpdef bytes frame_head(int opcode, int flags, long long correlation, bytes head, Py_ssize_t tail_length)
