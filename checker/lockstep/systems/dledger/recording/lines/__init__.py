"""The lines of a recording of DLedger: their types, and a reader that accepts nothing else."""
