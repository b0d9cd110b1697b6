"""Messages and stubs of `goqueue.v1`, made from the protos by `make grpc-stubs`."""
