"""Messages as the values they stand for, and the other way round."""
