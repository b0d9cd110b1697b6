"""Values with a schema: checks that decoding one takes a bounded amount of memory, depth and time, for each format.

Whatever decodes values of records asks here first: the broker when they are published, the console, the client's
deserializers, and through these Spark.
"""
