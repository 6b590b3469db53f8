"""Groups of nodes that run as processes on this machine, and the check of what they do."""
