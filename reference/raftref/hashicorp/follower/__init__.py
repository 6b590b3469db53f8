"""What a follower does: it takes the entries of its leader."""
