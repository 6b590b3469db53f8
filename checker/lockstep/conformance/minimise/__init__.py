"""Shorter traces with the same verdict: on the spec, step by step again, or as a part of what was recorded."""
