"""Clients that speak gRPC: `goqueue.v1`, health and reflection, served in the broker's own event loop."""
