"""Recurring schedules: when they are due, and what they have fired."""
