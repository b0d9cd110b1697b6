"""Which topics there are."""
