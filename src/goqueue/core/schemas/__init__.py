"""Schema registry: subjects, versions, and compatibility."""
