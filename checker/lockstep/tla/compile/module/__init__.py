"""The generated module: from a syntax tree and a configuration to the text of one Python module."""
