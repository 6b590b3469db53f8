"""Checking many traces at once, on Spark."""
