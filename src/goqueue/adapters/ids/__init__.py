"""Where known ids are looked up."""
