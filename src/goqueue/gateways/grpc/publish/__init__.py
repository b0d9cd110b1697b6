"""Publishing over gRPC: batches, single records, and streams of both."""
