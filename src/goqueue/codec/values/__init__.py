"""Schema value checks: decoding a value takes a bounded amount of memory, depth and time, for each format.

All code that decodes values of records checks them here first: the broker on publish, the console, the client's
deserializers, and through these Spark.
"""
