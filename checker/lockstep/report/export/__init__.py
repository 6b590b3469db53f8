"""Behaviours in the forms of other tools."""
