"""The values of TLA+ in Python, and what is computed with them while a spec runs."""
