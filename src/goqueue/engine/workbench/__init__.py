"""Dead-letter workbench: view, redrive and purge dead letters."""
