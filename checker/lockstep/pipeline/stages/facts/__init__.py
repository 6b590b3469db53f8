"""Facts of traces: what SQL finds in their lines, held against what the spec says of the same traces."""
