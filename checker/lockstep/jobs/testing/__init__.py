"""Traces as tests: what the plugin for pytest does."""
