"""Lemmas that z3 proves for all values, where a model checker sees only bounded ones."""
