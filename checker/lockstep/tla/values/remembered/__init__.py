"""What is remembered of values that come again: short sets, and what long ones were made of."""
