"""What a group answers to a request, as events."""
