"""The record codec in plain Python, for machines without a compiler; `goqueue.codec.record_py` is its front."""
