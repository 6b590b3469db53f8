"""The command line: a module for each command, shared options, and the exit codes of errors."""
