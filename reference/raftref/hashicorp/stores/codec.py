"""Entries, configurations and snapshots as JSON, and back: what `record()` writes is read here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from raftref.hashicorp.values import Configuration, Entry, EntryType, Index, Log, Snapshot, Term


def configuration_of(record: Mapping[str, Any]) -> Configuration:
    """Read a configuration."""
    return Configuration(frozenset(record["voters"]["#set"]), frozenset(record["nonvoters"]["#set"]))


def entry_of(record: Mapping[str, Any]) -> Entry:
    """Read an entry."""
    configuration = configuration_of(record["configuration"])
    return Entry(Term(record["term"]), EntryType(record["type"]), record["value"], configuration)


def log_of(record: Mapping[str, Any]) -> Log:
    """Read an entry with its index."""
    return Log(Index(record["index"]), entry_of(record["entry"]))


def snapshot_of(record: Mapping[str, Any]) -> Snapshot:
    """Read a snapshot."""
    return Snapshot(
        Index(record["index"]),
        Term(record["term"]),
        configuration_of(record["configuration"]),
        Index(record["configurationIndex"]),
        tuple(log_of(each) for each in record["applied"]),
    )
