"""The schema registry: which schemas there are under which subjects, and which may follow which."""
