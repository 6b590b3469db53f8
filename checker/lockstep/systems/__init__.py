"""The systems that lockstep knows, and specs of the reader's own."""
