"""Clock time in a place: which readings an expression names, and which instants a zone gives them."""
