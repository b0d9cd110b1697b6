"""The gRPC protocol of version 1: its definition in `proto`, and in `v1` what protoc makes of it."""
