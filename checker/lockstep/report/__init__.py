"""Reports: they show verdicts and compute none."""
