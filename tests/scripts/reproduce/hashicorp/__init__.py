"""The scripts for hashicorp/raft, a module for each flaw."""
