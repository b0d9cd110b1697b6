"""Values that everything speaks in; frozen, and valid once they exist."""
