"""A spec as it is written: SANY's syntax tree, the cfg, instances."""
