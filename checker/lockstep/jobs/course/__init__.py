"""The course: its exercises, which the running machinery grades."""
