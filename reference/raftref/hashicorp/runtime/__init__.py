"""A hashicorp/raft server that runs: its driver, its times, what clients ask, and its recorded steps as a trace."""
