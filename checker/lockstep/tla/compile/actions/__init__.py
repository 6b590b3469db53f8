"""Actions of TLA+ to Python generators over a next state under construction."""
