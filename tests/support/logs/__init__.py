"""Log lines of systems, made up, planted and spoilt."""
