"""Python twin of the record codec, for machines without a compiler; `goqueue.codec.record_py` is its public module."""
