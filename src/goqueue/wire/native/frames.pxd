cpdef bytes frame_head(int opcode, int flags, long long correlation, bytes head, Py_ssize_t tail_length)
cpdef bytes encode_frame(int opcode, int flags, long long correlation, bytes head, bytes tail=*)
