"""Bounds on what the reference is asked for."""

from __future__ import annotations

#: The most events of a simulated cluster.
EVENTS_MAX = 10_000_000
