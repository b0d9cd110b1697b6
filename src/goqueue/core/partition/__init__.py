"""Partition rules: high watermark, retention, disk space."""
