"""What z3 proves of DLedger for all integers."""
