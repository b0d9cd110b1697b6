"""Tools for a data folder at rest: inspection, dump, verification, repair, and a reader without a broker."""
