"""Temporal properties: behaviours without end in a state graph, as TLC's liveness checking (tlc2.tool.liveness)."""
