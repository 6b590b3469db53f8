"""TLA+ in Python: SANY's syntax tree, compiled to Python, as a specification that checks steps in-process."""
