"""Incremental evaluation of properties, of what a step changed, has the verdicts of literal evaluation at each step."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import pytest

from lockstep.base.package_data import traces_dir
from lockstep.conformance import property_evaluation
from lockstep.conformance.property_evaluation import (
    Evaluation,
    IncrementalEvaluation,
    LiteralEvaluation,
    PropertyEvaluator,
    Standing,
    changes,
)
from lockstep.conformance.tampering import Tampering, tamperings
from lockstep.conformance.trace_check import TraceCheck
from lockstep.systems.dledger.plans import PLANS, fault_plan
from lockstep.systems.dledger.recording_import import import_recording
from lockstep.systems.hashicorp import HASHICORP
from lockstep.systems.hashicorp import plans as hashicorp_plans
from lockstep.systems.trace_specs import trace_spec
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.trace.trace_format import Event, Header, trace_lines
from lockstep.trace.trace_reader import Trace
from raftref.dledger.simulation import simulate
from tests.support.sampling import sampled
from tests.support.systems.dledger import check_dledger, interface
from tests.support.systems.simulated_traces import as_event, header
from tests.support.tla.broken_spec import broken_spec

Found = list[tuple[str, str, int]]


def found_by(evaluation: Callable[[Spec], Evaluation], head: Header, events: list[Event], spec: Spec) -> Found:
    verdict = check_dledger(Trace(trace_lines(head, events), "t"), spec, evaluation=evaluation)
    return [(each.kind, each.name, each.line) for each in verdict.findings]


def states_of(spec: Spec, events: list[Event], head: Header) -> Iterator[tuple[State, State]]:
    """Take the steps of a trace."""
    check = TraceCheck(Trace(trace_lines(head, ()), "t"), spec, interface(spec))
    state = check.initial()
    for line, event in enumerate(events):
        after = check.advance(state, line, event)
        assert after is not None
        if after is not state:
            yield state, after
        state = after


def both(spec: Spec, steps: Iterator[tuple[State, State]]) -> list[tuple[list[str], list[str]]]:
    """Return the failures of each step by either evaluation; no property is dropped once it has failed."""
    literal, quick = LiteralEvaluation(spec), IncrementalEvaluation(spec)
    found = []
    for number, (state, after) in enumerate(steps):
        if number == 0:
            quick.begin(state)
        found.append((literal.violated(state, after), quick.violated(state, after)))
    return found


#: The protocol as published, elections message by message, and entries counted in batches; the others at night.
SAMPLE = ("published", "votes", "batches")


@pytest.mark.parametrize("plan", sampled(PLANS, SAMPLE))
def test_both_modes_find_the_same_violations_on_each_plan(plan: str) -> None:
    made = fault_plan(plan, 250)
    head = header(made)
    events = [as_event(tree) for tree in simulate(1, made)]
    spec = trace_spec(head, "t")
    assert found_by(LiteralEvaluation, head, events, spec) == found_by(IncrementalEvaluation, head, events, spec)


@pytest.mark.parametrize("name", sampled(["figure8", "truncate_restart", "loss"], ["figure8", "truncate_restart"]))
def test_both_modes_find_the_same_violations_on_recordings(name: str) -> None:
    imported = import_recording(traces_dir() / "captured" / "dledger" / f"dledger-0.2.7-{name}.ndjson")
    spec = trace_spec(imported.header, "t")
    events = list(imported)
    found = found_by(LiteralEvaluation, imported.header, events, spec)
    assert found == found_by(IncrementalEvaluation, imported.header, events, spec)
    assert bool(found) is (name != "loss")


#: Wrong forms of properties, which the published protocol, or any behaviour, breaks again and again.
WRONG = [
    ("IndexOrder ==\n", "IndexOrder == node[CHOOSE n \\in Node : TRUE].currTerm % 3 # 2 /\\\n"),
    ("NoHoles ==\n", "NoHoles == \\A n \\in Node : Len(node[n].log) % 2 # 1\nUnused ==\n"),
    ("TypeOK ==\n", "TypeOK ==\n    /\\ \\A n \\in Node : \\A p \\in Peers(n) : DOMAIN network[n][p] = {}\n"),
    ("ElectionSafety ==\n", "ElectionSafety ==\n    /\\ \\A n \\in Node : \\A m \\in Node : node[n].leaderId # m\n"),
]
#: [][A]_v with an A that no step makes true unless a term rises: false also where its footprint does not change.
RISES = (
    "LeaderAppendOnlyProp ==\n",
    "LeaderAppendOnlyProp == [][\\A n \\in Node : node'[n].currTerm > 0]_vars\nOld ==\n",
)


def all_along(
    spec: Spec, steps: Sequence[tuple[State, State]], properties: PropertyEvaluator
) -> Iterator[frozenset[str]]:
    """Yield the properties that PropertyEvaluator finds violated at each step."""
    known = properties.standing(steps[0][0])
    for state, after in steps:
        failed, known = properties.step(state, known, after)
        yield failed


@pytest.fixture(scope="module")
def wrong_steps(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[list[str], list[str]]]:
    """Return the failures of the steps of a run by either evaluation; the properties are replaced by wrong ones."""
    made = fault_plan("ordered", 200)
    head = header(made)
    with broken_spec(tmp_path_factory.mktemp("wrong"), *WRONG, RISES):
        spec = trace_spec(head, "t")
    steps = list(states_of(spec, [as_event(tree) for tree in simulate(7, made)], head))
    results = both(spec, iter(steps))
    for properties in (PropertyEvaluator(spec), PropertyEvaluator(spec, one_behaviour=True)):
        along = list(all_along(spec, steps, properties))
        assert along == [frozenset(literal) for literal, _ in results]
        assert len(set(along)) > 4
    return results


def test_a_behaviour_with_a_long_log_is_followed_by_the_elements_that_a_step_affects() -> None:
    """Otherwise the time of a step would grow with the log, and the time of a trace with its square."""
    made = fault_plan("ordered", 300)
    head = header(made)
    spec = trace_spec(head, "t")
    steps = list(states_of(spec, [as_event(tree) for tree in simulate(7, made)], head))
    properties = PropertyEvaluator(spec, one_behaviour=True)
    whole = 0

    def counting(holds: Callable[..., bool], elements: int) -> Callable[..., bool]:
        def counted(*args: object) -> bool:
            nonlocal whole
            whole += len(args) == 2 + elements
            return holds(*args)

        return counted

    for each in properties._parts:
        if each.affected:
            each.part = dataclasses.replace(each.part, holds=counting(each.part.holds, len(each.elements)))
    assert not any(all_along(spec, steps, properties))
    assert 0 < whole < len(steps) / 2


@pytest.mark.parametrize("name", [definition.split()[0] for definition, _ in WRONG])
def test_a_property_that_comes_and_goes_fails_at_the_same_steps(
    name: str, wrong_steps: list[tuple[list[str], list[str]]]
) -> None:
    results = [
        ([each for each in one if each == name], [each for each in two if each == name]) for one, two in wrong_steps
    ]
    assert any(literal for literal, _ in results)
    assert not all(literal for literal, _ in results)
    for literal, quick in results:
        # A failure that has not changed is not reported again: a check drops a property once it has failed.
        assert set(quick) <= set(literal)
    begins = [set(now[0]) - set(before[0]) for before, now in itertools.pairwise(results)]
    assert all(new <= set(quick) for new, (_, quick) in zip(begins, results[1:], strict=True))


def test_a_property_of_steps_that_forbids_standing_still_fails_at_each_step(
    wrong_steps: list[tuple[list[str], list[str]]],
) -> None:
    results = [("LeaderAppendOnlyProp" in literal, "LeaderAppendOnlyProp" in quick) for literal, quick in wrong_steps]
    assert any(literal for literal, _ in results)
    assert all(literal == quick for literal, quick in results)


def tampered_traces(plan: str, seed: int, events: int) -> Iterator[tuple[Header, list[Event], Tampering]]:
    made = fault_plan(plan, events)
    head = header(made)
    recorded = [as_event(tree) for tree in simulate(seed, made)]
    for each in tamperings(head, recorded, trace_spec(head, "t")):
        yield head, recorded, each


def agree_on_tampered(plan: str, seed: int, events: int, every: int) -> int:
    """Compare the two on every n-th tampered trace of a plan; return how many traces there were."""
    count = 0
    for head, recorded, each in itertools.islice(tampered_traces(plan, seed, events), 0, None, every):
        changed = each.applied(recorded)
        spec = trace_spec(head, "t")
        assert found_by(LiteralEvaluation, head, changed, spec) == found_by(IncrementalEvaluation, head, changed, spec)
        count += 1
    return count


def test_both_modes_find_the_same_violations_on_tampered_traces() -> None:
    assert agree_on_tampered("published", 4, 60, every=360) >= 8


@pytest.mark.nightly
@pytest.mark.parametrize("plan", ["published", "fine_published", "batches_published", "votes_published"])
def test_both_modes_find_the_same_violations_on_thousands_of_tampered_traces(plan: str) -> None:
    assert agree_on_tampered(plan, 4, 120, every=5) >= 1000


def test_changes_are_the_variables_that_a_step_changes_and_no_others() -> None:
    made = fault_plan("ordered", 40)
    head = header(made)
    spec = trace_spec(head, "t")
    for state, after in states_of(spec, [as_event(tree) for tree in simulate(7, made)], head):
        assert not list(changes(state, state))
        changed = set(changes(state, after))
        assert changed or state == after
        for name, value in after.as_dict().items():
            if value != state[name]:
                assert any(change[0] == name for change in changed)


def test_incremental_evaluation_skips_most_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    made = fault_plan("ordered", 200)
    head = header(made)
    spec = trace_spec(head, "t")
    quick = IncrementalEvaluation(spec)
    evaluated = 0
    holds = property_evaluation._part_holds

    def counted(*args: object) -> bool:
        nonlocal evaluated
        evaluated += 1
        return holds(*args)  # type: ignore[arg-type]  # as they were given

    monkeypatch.setattr(property_evaluation, "_part_holds", counted)
    steps = list(states_of(spec, [as_event(tree) for tree in simulate(7, made)], head))
    for state, after in steps:
        quick.violated(state, after)
    assert evaluated < len(steps) * len(quick._evaluator._parts) / 3


def test_a_footprint_that_is_too_small_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths into a log are made to count as unchanged, so that violations are missed."""
    all_changes: Callable[[State, State], Iterator[property_evaluation.Change]] = changes

    def blind(state: State, after: State) -> Iterator[property_evaluation.Change]:
        return (change for change in all_changes(state, after) if change[-1] not in ("log", "committedIndex"))

    imported = import_recording(traces_dir() / "captured" / "dledger" / "dledger-0.2.7-figure8.ndjson")
    spec = trace_spec(imported.header, "t")
    literal = found_by(LiteralEvaluation, imported.header, list(imported), spec)
    monkeypatch.setattr(property_evaluation, "changes", blind)
    assert found_by(IncrementalEvaluation, imported.header, list(imported), spec) != literal


# ---- The elements that a change affects ----


def grown(size: int) -> tuple[Spec, State, State]:
    """A state in which n1 leads, all hold `size` entries and n1 knows them committed; and n1 appends one more."""
    from lockstep.tla.values.kinds import Fcn

    made = fault_plan("published", 1)
    spec = trace_spec(header(made), "t")
    entry = [Fcn({"term": 1, "value": f"v{number}"}) for number in range(size)]
    state = next(spec.initial_states())
    log = tuple(entry)
    holds = {
        name: Fcn({**node.d, "log": log, "disk": log, "currTerm": 1, "ledgerEndTerm": 1, "committedIndex": size - 1})
        for name, node in state["node"].d.items()
    }
    holds["n1"] = Fcn({**holds["n1"].d, "role": "LEADER"})
    committed = frozenset(Fcn({"term": 1, "index": number, "entry": each}) for number, each in enumerate(entry))
    state = state.replace(node=Fcn(holds), committed=committed)
    after = spec.step(state, "AppendAsLeader", {"n": "n1", "value": "new"})
    assert after is not None
    return spec, state, after


def affected_count(size: int) -> int:
    """Return how many elements of sets and ranges are evaluated after an append to logs of this length."""
    spec, state, after = grown(size)
    quick = IncrementalEvaluation(spec)
    count = 0
    for part in quick._evaluator._parts:
        for elements in part.affected:
            step = ((state, state), (state, after)) if part.of_step else ((state, None), (after, None))
            found = elements.affected(*step, list(changes(state, after)))
            assert found is not None or part.name == "TypeOK" or "AcknowledgedIsDurable" in part.name
            count += len(list(found or ()))
    assert quick.violated(state, after) == []
    return count


def test_an_append_affects_as_many_elements_of_a_long_log_as_of_a_short_one() -> None:
    assert 0 < affected_count(400) <= affected_count(10) + 2


def test_an_entry_that_is_overwritten_within_a_long_log_is_found() -> None:
    """StateMachineSafety, LeaderCompleteness and LogMatching look again at that index, and at no other."""
    from lockstep.tla.values.kinds import Fcn

    spec, state, _ = grown(300)
    node = state["node"]
    log = node.d["n1"].d["log"]
    wrong = (*log[:150], Fcn({"term": 1, "value": "other"}), *log[151:])
    after = state.replace(node=Fcn({**node.d, "n1": Fcn({**node.d["n1"].d, "log": wrong})}))
    found = IncrementalEvaluation(spec).violated(state, after)
    literal = LiteralEvaluation(spec).violated(state, after)
    assert found == literal
    assert {"LeaderCompleteness", "StateMachineSafety", "LogMatching"} <= set(found)


def test_a_commit_past_the_end_of_the_log_is_found_by_its_threshold() -> None:
    from lockstep.tla.values.kinds import Fcn

    spec, state, _ = grown(50)
    node = state["node"]
    short = Fcn({**node.d["n2"].d, "log": node.d["n2"].d["log"][:20]})
    before = state.replace(node=Fcn({**node.d, "n2": short}))
    leads = Fcn({**short.d, "role": "LEADER"})
    after = before.replace(node=Fcn({**node.d, "n2": leads}))
    # A failure that has not changed is not reported again.
    new = [
        name
        for name in LiteralEvaluation(spec).violated(before, after)
        if name not in LiteralEvaluation(spec).violated(before, before)
    ]
    assert IncrementalEvaluation(spec).violated(before, after) == new
    assert "LeaderCompleteness" in new


def test_only_the_changed_entries_of_a_log_with_gaps_are_looked_at() -> None:
    """The log of hashicorp/raft is a function from indexes, which need not begin at 1."""
    from lockstep.tla.values.kinds import Fcn

    head, events = hashicorp_plans.SIMULATOR.cluster("raft", 11, 300)
    spec = trace_spec(head, "t")
    check = TraceCheck(Trace(trace_lines(head, ()), "t"), spec, HASHICORP.interface(spec))
    state = check.initial()
    for line, event in enumerate(events):
        state = check.advance(state, line, event) or state
    node = state["node"].d
    whole = dict(enumerate(node["n1"].d["log"], start=1))
    log = {index: entry for index, entry in whole.items() if index > 5}
    assert len(log) > 10
    node = {**node, "n1": Fcn({**node["n1"].d, "log": Fcn(log)})}
    state = state.replace(node=Fcn(node))
    of_types = next(
        each
        for each in PropertyEvaluator(spec)._parts
        if each.name == "TypeOK" and each.elements == ("n1",) and any(at for part in each.part.eaches for at in part.at)
    )
    for index in (min(log), max(log), max(log) + 2):
        wrong = Fcn({**log, index: Fcn({**log[max(log)].d, "term": -1})})
        after = state.replace(node=Fcn({**node, "n1": Fcn({**node["n1"].d, "log": wrong})}))
        (elements,) = of_types.affected
        assert set(elements.affected((state, None), (after, None), list(changes(state, after))) or ()) == {index}
        assert "TypeOK" in IncrementalEvaluation(spec).violated(state, after)
        assert IncrementalEvaluation(spec).violated(state, after) == LiteralEvaluation(spec).violated(state, after)


# ---- Behaviours that branch ----

#: Properties that come and go, of states and of steps; Ticks forbids that anything else moves while x stands still.
CLOCKS = """---- MODULE Clocks ----
EXTENDS Naturals
VARIABLES x, y
Init == x = 0 /\\ y = [n \\in {1, 2} |-> 0]
Tick == x' = (x + 1) % 4 /\\ UNCHANGED y
Skip == x' = (x + 2) % 4 /\\ UNCHANGED y
Turn(n) == y' = [y EXCEPT ![n] = (@ + 1) % 3] /\\ UNCHANGED x
Same(n) == y' = [y EXCEPT ![n] = @ + 0] /\\ x' = x + 0
Next == Tick \\/ Skip \\/ \\E n \\in {1, 2} : Turn(n) \\/ Same(n)
Low == x < 3
Apart == \\A n \\in {1, 2} : y[n] # x
Ticks == [][x' = (x + 1) % 4 /\\ \\A n \\in {1, 2} : y'[n] >= y[n]]_<<x, y>>
Both == []Low /\\ [][y[1] # 2]_y
====
"""
CFG = "INIT Init\nNEXT Next\nINVARIANTS Low Apart\nPROPERTIES Ticks Both\n"


@pytest.fixture(scope="module")
def clocks(tmp_path_factory: pytest.TempPathFactory) -> Spec:
    folder = tmp_path_factory.mktemp("clocks")
    (folder / "Clocks.tla").write_text(CLOCKS)
    (folder / "Clocks.cfg").write_text(CFG)
    return load_spec(folder / "Clocks.tla", folder / "Clocks.cfg", cache_dir=folder / "cache")


def differing(spec: Spec) -> tuple[Counter[str], list[tuple[State, State]]]:
    """Go along every edge of the graph; count what fails as the formulas say, and list where the evaluator differs."""
    properties = PropertyEvaluator(spec)
    failing: Counter[str] = Counter()
    wrong = []
    start = next(spec.initial_states())
    standing: dict[State, Standing] = {start: properties.standing(start)}
    pending = [start]
    while pending:
        state = pending.pop()
        for _, _, after in spec.successors(state):
            there = {name for name, holds in spec.invariants.items() if not holds(after)}
            by_step = {name for name, holds in spec.action_properties.items() if not holds(state, after)}
            failing.update(there | by_step)
            found, known = properties.step(state, standing[state], after)
            if found != there | by_step or known != properties.standing(after):
                wrong.append((state, after))
            if after not in standing:
                standing[after] = known
                pending.append(after)
    assert len(standing) == 4 * 3 * 3
    return failing, wrong


def test_both_modes_find_the_same_failures_at_each_step_of_a_graph(clocks: Spec) -> None:
    failing, wrong = differing(clocks)
    assert wrong == []
    assert set(failing) == {"Low", "Apart", "Ticks", "Both"}


def test_a_footprint_that_is_too_small_would_be_found_out_on_a_graph(
    clocks: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(property_evaluation.FootprintIndex, "affected_by", lambda _self, _change: [])
    _, wrong = differing(clocks)
    assert wrong
