"""What all parts of a server share: its state, the form of a step, what a step asks of the world outside."""
