"""The native protocol: frames over TCP, many requests in flight on one connection."""
