"""What a leader does: its main loop, its routines for each peer, and what clients may ask of it."""
