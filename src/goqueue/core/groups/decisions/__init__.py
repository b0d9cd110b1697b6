"""Group decisions: commands to events."""
