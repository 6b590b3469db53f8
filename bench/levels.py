"""Measure what each level of a search by tables costs: python bench/levels.py prior_term_commit [--every 5]

A level is what a cluster would do as one job, so this is what a plan for one is made from: how many states and
successors a level has, how many of the successors are new, how many evaluations were not in the tables yet, how many
values of columns are met the first time, and where the processor's time goes. One process; its other work is left out.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from lockstep.report.text_table import table
from lockstep.systems.registry import model_named
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.tables import table_search
from lockstep.tla.tables.decision_trees import Trees
from lockstep.tla.tables.expander import Expander
from lockstep.tla.tables.fingerprint_set import FingerprintSet
from lockstep.tla.tables.predicate_trees import StatePredicates, StepPredicates
from lockstep.tla.tables.step_fingerprints import StepFingerprints
from lockstep.tla.tables.successor_groups import SuccessorGroups

PHASES = ("look up", "generate", "properties", "fingerprint", "duplicates", "new states", "evaluate")


@dataclass
class Clock:
    """Seconds of the processor by what they were for; what is done within something else does not count for that."""

    spent: Counter[str] = field(default_factory=Counter)
    _open: list[tuple[str, float]] = field(default_factory=list)

    def timed(self, phase: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """Return what does the same work and takes the time."""

        def timed(*args: Any, **options: Any) -> Any:
            now = time.process_time()
            if self._open:
                outer, since = self._open[-1]
                self.spent[outer] += now - since
            self._open.append((phase, now))
            try:
                return work(*args, **options)
            finally:
                now = time.process_time()
                _, since = self._open.pop()
                self.spent[phase] += now - since
                if self._open:
                    self._open[-1] = self._open[-1][0], now

        return timed

    def watch(self, phase: str, owner: Any, name: str) -> None:
        """Take the time of a method, or of a function of a module."""
        setattr(owner, name, self.timed(phase, getattr(owner, name)))


@dataclass
class Level:
    """The state of the search when a level had been expanded: sums over all levels so far."""

    states: int
    generated: int
    distinct: int
    evaluations: int
    values: int
    spent: Counter[str]


def main() -> None:
    """Print the levels, and what a state and a successor cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--every", type=int, default=5, help="levels that a row of the table sums up")
    chosen = parser.parse_args()
    manifest, entry = model_named(chosen.model)
    spec, cfg = manifest.files(entry)
    loaded = load_spec(spec, cfg, search_path=[manifest.path.parent / folder for folder in manifest.library])
    levels = _levels(loaded, deadlock=entry.deadlock and loaded.check_deadlock)
    if (entry.distinct, entry.generated) != (levels[-1].distinct, levels[-1].generated):
        raise SystemExit(f"{chosen.model}: not the counts that are pinned: {levels[-1]}")
    print(_laid_out(levels, chosen.every))


def _levels(loaded: Any, *, deadlock: bool) -> list[Level]:
    clock, levels = Clock(), [Level(0, 0, 0, 0, 0, Counter())]
    for phase, owner, name in (
        ("look up", Expander, "_look_up"),
        ("generate", SuccessorGroups, "generate"),
        ("fingerprint", StepFingerprints, "after"),
        ("properties", StepPredicates, "verdicts"),
        ("properties", StatePredicates, "verdicts_after"),
        ("duplicates", FingerprintSet, "add"),
        ("new states", Expander, "accept"),
        ("evaluate", Trees, "_evaluate"),
    ):
        clock.watch(phase, owner, name)
    expand = table_search._TableSearch.expand_level

    def noted(self: Any, count: int) -> bool:
        goes_on = expand(self, count)
        result, values = self.result, sum(map(len, self.layout.values))
        states = levels[-1].states + count
        levels.append(
            Level(states, result.generated, result.distinct, result.evaluations, values, Counter(clock.spent))
        )
        return goes_on

    table_search._TableSearch.expand_level = noted  # type: ignore[method-assign]  # the only place that knows where a level ends
    begin = time.process_time()
    table_search.explore_by_tables(loaded, SearchOptions(check_deadlock=deadlock))
    whole = time.process_time() - begin
    levels[-1].spent["other"] = whole - sum(levels[-1].spent.values())
    return levels


def _laid_out(levels: list[Level], every: int) -> str:
    chosen = [*range(0, len(levels) - 1, every), len(levels) - 1]
    rows: list[tuple[object, ...]] = []
    for first, last in pairwise(chosen):
        old, new = levels[first], levels[last]
        states, generated = new.states - old.states, new.generated - old.generated
        seconds = [new.spent[phase] - old.spent[phase] for phase in PHASES]
        counts = (
            states,
            generated,
            new.distinct - old.distinct,
            new.evaluations - old.evaluations,
            new.values - old.values,
        )
        rows.append((f"{first + 1}-{last}", *counts, *(f"{each:.2f} s" for each in seconds)))
    end = levels[-1]
    total = sum(end.spent.values())
    rows.append(("all", end.states, end.generated, end.distinct, end.evaluations, end.values, *_sums(end)))
    heads = ("levels", "states", "successors", "new", "evaluations", "values", *PHASES)
    said = [f"{phase}: {end.spent[phase] / end.generated * 1e6:.2f}" for phase in (*PHASES, "other")]
    return (
        f"{table(heads, rows)}\n\n{total:.1f} s of the processor: {total / end.states * 1e6:.1f} microseconds a state, "
        f"{total / end.generated * 1e6:.2f} a successor; of these {', '.join(said)}"
    )


def _sums(level: Level) -> list[str]:
    return [f"{level.spent[phase]:.2f} s" for phase in PHASES]


if __name__ == "__main__":
    main()
