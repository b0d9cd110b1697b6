"""Index of known record ids."""
