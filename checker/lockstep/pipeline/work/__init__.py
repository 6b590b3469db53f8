"""How a stage works: batch by batch, over whole traces in order."""
