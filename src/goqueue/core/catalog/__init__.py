"""Topic catalog: the topics of the broker."""
