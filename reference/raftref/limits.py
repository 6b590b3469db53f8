"""Limits of the reference's runs."""

from __future__ import annotations

#: The most events of a simulated cluster.
MAX_EVENTS = 10_000_000
