"""The text of a spec: SANY's syntax tree, the cfg, and instances."""
