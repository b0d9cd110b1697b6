"""Reading over gRPC: once, as a stream, and as a member of a group."""
