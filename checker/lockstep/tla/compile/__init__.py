"""From the syntax tree to Python source."""
