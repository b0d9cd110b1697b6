"""Verification of a data folder: every byte is checked, nothing is changed."""
