"""Schema registry: parsing in threads, durable changes, and validation for publishers."""
