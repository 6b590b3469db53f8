"""The properties in Python are those of the spec: they fail at the same step of the same trace, or nowhere.

Each trace is of a system with flaws, so that something fails; the check of the compiled spec is the judge. A property
in Python that is too strict ends a hunt as an internal error, since the spec does not confirm it; one that is too lax
would be missed, so each one that fails in some trace is compared here.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest

from lockstep.conformance.trace_check import check_trace
from lockstep.hunt.example import ExampleRun, Listener
from lockstep.jobs.listed_trace import ListedTrace
from lockstep.systems.registry import SYSTEMS, simulators
from lockstep.systems.system import System
from lockstep.systems.trace_files import open_trace
from lockstep.systems.trace_specs import compiled
from lockstep.trace.trace_format import Event, Header
from tests.support.places import ROOT


def watched(system: System, header: Header, events: tuple[Event, ...]) -> dict[str, int]:
    """The number of the first event at which each property fails, by the watch of a group that takes the same steps."""
    assert system.hunted is not None
    hunted = system.hunted()
    plan = type(hunted.plan(3, (), (), random.Random(1))).from_constants(header.nodes, header.constants)
    listener = Listener(frozenset(), ExampleRun())
    group = hunted.group(plan, listener)
    failed: dict[str, int] = {}
    number = 0

    class Noted:
        def __init__(self) -> None:
            self.watch = hunted.watch(group)

        def before(self, move: tuple[str, str, tuple[object, ...]]) -> None:
            self.watch.before(move)

        def after(self, move: tuple[str, str, tuple[object, ...]]) -> list[tuple[str, str]]:
            for name, _ in self.watch.after(move):
                failed.setdefault(name, number)
            return []

    listener.watch = Noted()
    for number, event in enumerate(events, start=1):  # noqa: B007 - the watch reads it
        args = group.arguments(event.action, event.args)
        assert args is not None
        group.take(event.node, event.action, *args)
    return failed


def judged(system: System, header: Header, events: tuple[Event, ...]) -> Mapping[str, int]:
    verdict = check_trace(
        ListedTrace.numbered("", events),
        spec := compiled(system, header, ""),
        system.interface(spec),
    )
    assert verdict.deviation is None, verdict.reason
    return {name: found.line - 1 for name, found in verdict.violations.items()}


@pytest.mark.parametrize(
    ("plan", "seeds"),
    [
        ("published", (10,)),
        ("fine_published", (0,)),
        ("raft_whole_published", (8, 19)),
        *(
            pytest.param(name, range(40), marks=pytest.mark.nightly)
            for name in ("published", "fine_published", "batches_published", "votes_published", "late_truncate")
        ),
        *(
            pytest.param(name, range(40), marks=pytest.mark.nightly)
            for name in ("raft_whole_published", "raft_votes_published", "raft_snapshots_published")
        ),
    ],
)
def test_the_watch_and_the_spec_see_each_property_fail_at_the_same_step(plan: str, seeds: Sequence[int]) -> None:
    system, simulator = simulators()[plan]
    failed = 0
    for seed in seeds:
        header, events = simulator.cluster(plan, seed, 400)
        taken = tuple(events)
        expected = judged(system, header, taken)
        assert watched(system, header, taken) == expected, f"seed {seed}"
        failed += len(expected)
    assert failed > 0


#: The properties that fail in no counterexample that is kept, by the name of the spec: planted failures show them.
FAIL_NOWHERE = {
    "DLedger": {
        *("NoHoles", "StateMachineSafety", "AcknowledgedIsDurable", "CommittedMonotonicProp"),
        *("WatermarkMonotonicWithinTermProp", "LeaderAppendOnlyProp"),
    },
    "HashicorpRaft": {
        *("ElectionSafety", "OneChangeAtATime", "VoteOncePerTermProp", "TermsRiseProp"),
        *("LeaderAppendOnlyProp", "CommitMonotonicProp"),
    },
}

COUNTEREXAMPLES = sorted((ROOT / "traces" / "counterexamples").rglob("*.trace.ndjson"))


@pytest.mark.nightly
@pytest.mark.parametrize("spec", FAIL_NOWHERE)
def test_the_watch_and_the_spec_see_each_counterexample_fail_at_the_same_step(spec: str) -> None:
    system, failed = SYSTEMS[spec], set[str]()
    assert system.hunted is not None
    for path in COUNTEREXAMPLES:
        trace = open_trace(path)
        if trace.header.spec == spec:
            events = tuple(event for _, event in trace)
            expected = judged(system, trace.header, events)
            assert watched(system, trace.header, events) == expected, path.name
            failed |= expected.keys()
    assert set(system.hunted().properties) - failed == FAIL_NOWHERE[spec]


def test_every_property_that_traces_are_checked_for_is_watched() -> None:
    for system in SYSTEMS.values():
        assert system.hunted is not None
        assert system.simulator is not None
        header, _ = system.simulator.cluster(system.simulator.plans[0], 1, 1)
        spec = compiled(system, header, "")
        checked = {*spec.invariants, *spec.action_properties} - {"TypeOK"}
        assert set(system.hunted().properties) == checked
