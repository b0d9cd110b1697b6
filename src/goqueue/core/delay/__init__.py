"""Delayed records: their due times and their states."""
