"""Logs with lines for a part of the steps: is there a behaviour of the spec that explains them?"""
