"""The command line: a module for each command, what they share, and what becomes of errors."""
