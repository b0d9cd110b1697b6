"""How each broker is started: in which setting, on which port, over which folder."""
