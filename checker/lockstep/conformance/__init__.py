"""Traces beside the spec: the check, its verdict, and tests of the check itself."""
