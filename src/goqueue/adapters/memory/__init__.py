"""Twins of the disk adapters that keep everything in memory."""
