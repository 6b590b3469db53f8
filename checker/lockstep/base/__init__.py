"""What every room uses: errors, verdicts, files, progress."""
