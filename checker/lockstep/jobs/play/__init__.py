"""Playing a spec: a person takes its steps, from any state that was reached, with each property evaluated."""
