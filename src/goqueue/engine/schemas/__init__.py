"""The schema registry at work: parsing in threads, changes that last, and what publishers ask of it."""
