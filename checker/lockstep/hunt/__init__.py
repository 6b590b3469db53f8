"""The search for violations with Hypothesis: examples of a system's groups from their start, guided by distances."""
