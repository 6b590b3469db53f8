"""Commands that make other traces of a trace."""
