"""Nodes that run: drivers decide when a node takes which step, and shells give them time, network and disks."""
