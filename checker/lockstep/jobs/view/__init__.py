"""The behaviours that a page shows: a trace of a known system, a counterexample, a spec or logs of the reader's own."""
