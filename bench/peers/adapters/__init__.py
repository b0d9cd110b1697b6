"""How each client library publishes, takes and acknowledges at its best."""
