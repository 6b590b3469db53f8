"""Disks for the stores: a folder, and one in memory that can fail."""
