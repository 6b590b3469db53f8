"""Exploring a specification by tables: an action is evaluated once for each value of what it reads of a state."""
