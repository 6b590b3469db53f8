"""The scripts for DLedger, a module for each flaw."""
