"""The native listener: frames in, use cases, frames out."""
