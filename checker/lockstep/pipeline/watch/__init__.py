"""`lockstep watch`: Structured Streaming checks traces while they are written."""
