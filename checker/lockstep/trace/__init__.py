"""Traces: their format, and the adapters that make them from recordings of real systems."""
