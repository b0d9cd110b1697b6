"""Value types shared by all packages: frozen, and valid once they exist."""
