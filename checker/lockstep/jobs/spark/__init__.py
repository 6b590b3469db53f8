"""Fleets and corpora of traces, checked by Spark."""
