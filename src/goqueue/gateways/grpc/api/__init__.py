"""Everything that can be asked for over gRPC besides publishing and reading: one file for each service."""
