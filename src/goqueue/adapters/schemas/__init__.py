"""Compiling .proto texts, which needs files and another process."""
