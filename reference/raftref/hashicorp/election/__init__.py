"""How a leader is elected: the voter, and the candidate."""
