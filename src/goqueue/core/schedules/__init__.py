"""Recurring schedules: due times, and firings."""
