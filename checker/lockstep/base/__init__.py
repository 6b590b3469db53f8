"""Used by every package: errors, verdicts, files, progress."""
