"""Specs made up by a seed, and TLC as the oracle beside them."""
