"""Simulated groups of any protocol. No protocol rule is here."""
