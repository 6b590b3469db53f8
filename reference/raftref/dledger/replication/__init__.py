"""Dispatchers, handlers, the quorum checker, clients and their state machine."""
