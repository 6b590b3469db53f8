"""The references of DLedger and hashicorp/raft, their recordings, mutants and lies."""
