"""Programs that use GoQueue as its users do."""
