"""DLedger: its traces, its recordings and its logs."""
