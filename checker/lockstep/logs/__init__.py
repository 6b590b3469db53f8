"""Logs with lines for some of the steps: a search for a behaviour of the spec that explains them."""
