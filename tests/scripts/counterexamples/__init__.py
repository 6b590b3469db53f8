"""The traces of traces/counterexamples: how they are made, and what is said of them."""
