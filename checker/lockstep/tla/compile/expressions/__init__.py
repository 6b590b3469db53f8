"""Expressions of TLA+ to expressions of Python."""
