"""Partition assignment."""
