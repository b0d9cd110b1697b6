"""The load generator of `goqueue bench`: processes that publish, read and work off queues, and their figures."""
