"""The check of traces against a spec, its verdict, and tests of the check itself."""
