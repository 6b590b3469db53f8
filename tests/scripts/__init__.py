"""Programs that print a page or a table of docs/, run as `python -m tests.scripts.NAME`."""
