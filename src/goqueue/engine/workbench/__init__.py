"""The workbench for dead letters: look at them, send them back, or be done with them."""
