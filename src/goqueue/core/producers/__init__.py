"""Who publishes, and what each has sent."""
