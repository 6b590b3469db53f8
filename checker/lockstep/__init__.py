"""lockstep keeps implementations of replicated logs in step with their TLA+ spec."""
