"""A behaviour as a page for a browser: one file, which loads nothing and runs nothing that comes from the trace."""
