"""Compiler of .proto texts, which needs files and a process of its own."""
