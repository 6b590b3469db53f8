"""Bounded models: their manifest, running them, searching them, drawing what was found."""
