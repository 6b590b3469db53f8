"""Specs of the reader's own: as a system, and how traces and logs are held against them."""
