"""Repair of a data folder: intact data is kept, damage is cut out, indexes are built again."""
