"""Settings, and putting everything together."""
