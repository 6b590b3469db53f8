"""What z3 proves of hashicorp/raft for all integers."""
