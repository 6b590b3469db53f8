"""The options of a search, whichever engine it has, and the progress that it reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

#: Distinct states that a search finds one by one before it goes on by tables; measured in docs/measured/engines.md.
STATES_BEFORE_TABLES = 500


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """The progress of a search.

    Attributes:
        depth: the level that is expanded.
        seconds: the time since the beginning, by the clock.
        waits_for: what the search waits for before it goes on; empty where it goes on.
    """

    distinct: int
    generated: int
    queued: int
    depth: int
    seconds: float = 0.0
    evaluations: int = 0
    lookups: int = 0
    waits_for: str = ""


ReportProgress: TypeAlias = Callable[[SearchProgress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """The options of a search.

    Attributes:
        check_deadlock: whether a state without successors is a violation; the configuration decides if None.
        max_states: stop after the state whose successors make this many distinct ones.
        memory_budget: give up where the search would take more bytes of memory.
        keep_edges: whether to keep the steps between states.
        states_before_tables: where the engine is "compiled", the distinct states after which it goes on by tables.
        checkpoint: the file in which a search by tables is kept, and from which it goes on.
        checkpoint_seconds: the time between two writings of that file.
        confirm: whether a search by tables is made again in other ways until its counts are confirmed.
        count_orbits: whether a search by tables counts the images of all states under SYMMETRY.
        fingerprint_seed: chooses the function that makes fingerprints of states for tables.
        device: where a search by tables expands states: on the processor, or on a graphics card of NVIDIA.
        device_states: the most states that a card expands at once, where it is to be fewer than usual.
        threads: the threads that go down tables together, on the processor.
        device_memory: the most bytes of a card's memory that may be used (default: nine tenths of what is free).
    """

    check_deadlock: bool | None = None
    max_states: int | None = None
    memory_budget: int | None = None
    on_progress: ReportProgress | None = None
    keep_edges: bool = False
    states_before_tables: int = STATES_BEFORE_TABLES
    checkpoint: Path | None = None
    checkpoint_seconds: float = 300.0
    confirm: bool = False
    count_orbits: bool = False
    fingerprint_seed: int = 0
    device: Literal["cpu", "cuda"] = "cpu"
    device_states: int | None = None
    device_memory: int | None = None
    tlc_workers: int = 1
    threads: int = 1


DEFAULT_OPTIONS = SearchOptions()
