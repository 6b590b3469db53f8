"""Measure the compiled spec beside TLC: searches of whole models, where their time goes, and single named steps.

Every figure of a row is taken in one run, one after the other, since machines are noisy; read the ratios. The
two engines must agree on the counts of a model, or the run fails.

    python bench/engines.py             all tables
    python bench/engines.py --steps     one of them
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

from lockstep.models.pinned_models import files_of
from lockstep.models.search_result import Engine, SearchResult
from lockstep.models.spec_search import explore_spec
from lockstep.report.text_table import table
from lockstep.systems.registry import manifest
from lockstep.systems.trace_specs import trace_spec
from lockstep.tla.explore import explore
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.symmetry import state_equivalence
from lockstep.tla.values.kinds import Value
from lockstep.trace.trace_format import FORMAT, Header

MODELS = ("votes_small", "votes_log", "ordered", "crash", "stale_push", "lossy")
LOG_LENGTHS = (10, 100, 1_000, 10_000)
SECONDS = 0.5
LEADER, FOLLOWER = "n1", "n2"
CONSTANTS: dict[str, bool | str | int] = {
    "StepwiseElections": False,
    "VoteMessages": False,
    "Fifo": True,
    "PriorTermCommit": "repaired",
    "TruncatedTail": "repaired",
    "PushTermCheck": "repaired",
}


def main() -> None:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", action="store_true", help="the searches alone")
    parser.add_argument("--shares", action="store_true", help="where the time of a search goes, alone")
    parser.add_argument("--steps", action="store_true", help="the named steps alone")
    chosen = parser.parse_args()
    tables = {"models": engines_table, "shares": shares_table, "steps": steps_table}
    wanted = [name for name in tables if getattr(chosen, name)]
    for name in wanted or tables:
        print(tables[name]())


def engines_table() -> str:
    """Search each model three times and lay out what it took."""
    header = ("model", "distinct", "generated", "compiled", "TLC, 1 worker", "TLC, 2 workers", "compiled / TLC 1")
    return table(header, [_engines_row(name) for name in MODELS]) + "\n"


def _engines_row(name: str) -> tuple[object, ...]:
    pinned = manifest()
    files = files_of(pinned, pinned.model(name))
    explore_spec(files, Engine.LITERAL, SearchOptions(max_states=1))  # compiled and cached before the clock starts
    compiled = explore_spec(files, Engine.LITERAL, SearchOptions(check_deadlock=False))
    one, two = (
        explore_spec(files, Engine.TLC, SearchOptions(check_deadlock=False, tlc_workers=workers)) for workers in (1, 2)
    )
    counts = {(found.distinct, found.generated) for found in (compiled, one, two)}
    if len(counts) != 1:
        raise SystemExit(f"{name}: the engines disagree: {sorted(counts, key=str)}")
    times = [_speed(found) for found in (compiled, one, two)]
    return (name, compiled.distinct, compiled.generated, *times, f"{compiled.seconds / one.seconds:.1f}")


def _speed(found: SearchResult) -> str:
    return f"{found.seconds:5.1f} s {(found.generated or 0) / found.seconds:8,.0f}/s"


def shares_table() -> str:
    """Redo the work of a search, part by part, for all its states, and lay out each part's share."""
    header = ("model", "next states", "properties", "symmetry", "states seen", "microseconds a step")
    return table(header, [_shares_row(name) for name in MODELS]) + "\n"


def _shares_row(name: str) -> tuple[object, ...]:
    pinned = manifest()
    spec = load_spec(*pinned.files(pinned.model(name)))
    found = explore(spec, SearchOptions(check_deadlock=False))
    same, seen, clock = state_equivalence(spec), set[Value](), time.perf_counter
    spent = dict.fromkeys(("next", "properties", "symmetry", "seen"), 0.0)
    for state in found.states:
        begin = clock()
        after = [after for _, _, after in spec.successors(state)]
        spent["next"] += clock() - begin
        begin = clock()
        assert all(holds(state) for holds in spec.invariants.values())
        for each in after:
            _ = spec.constraint(each) and spec.action_constraint(state, each)
            assert all(keeps(state, each) for keeps in spec.action_properties.values())
        spent["properties"] += clock() - begin
        begin = clock()
        images = [] if same.is_equality else same.keys(state)
        spent["symmetry"] += clock() - begin
        begin = clock()
        _ = [same.key(each) in seen for each in after]
        seen.update(images or [state])
        spent["seen"] += clock() - begin
    total = sum(spent.values())
    return (name, *(f"{100 * part / total:.0f} %" for part in spent.values()), f"{1e6 * total / found.generated:,.0f}")


def steps_table() -> str:
    """Time named steps on a leader and a follower with logs of several lengths."""
    rows = []
    for length in LOG_LENGTHS:
        spec, state = replicated(length)
        for action, args, before in steps(spec, state):
            rows.append((length, action, f"{_rate(lambda: spec.step(before, action, args)):,.0f}"))  # noqa: B023
    return table(("log", "action", "steps/s"), rows)


def _rate(step: Callable[[], object]) -> float:
    """Return how often a second a step can be taken."""
    count, begin = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - begin) < SECONDS:
        step()
        count += 1
    return count / elapsed


def replicated(length: int) -> tuple[Spec, State]:
    """Make a leader with `length` entries, and a follower that stores all of them."""
    header = Header(FORMAT, "bench", "1", "DLedger", ("n1", "n2", "n3"), CONSTANTS)
    spec = trace_spec(header, "bench")
    state = next(iter(spec.initial_states()))
    state = take(spec, state, "ElectLeader", LEADER, voters=frozenset({LEADER, FOLLOWER}))
    state = take(spec, state, "AppendAsLeader", LEADER, value="first")
    for handler in ("DoCompare", "DoTruncate"):
        state = take(spec, state, handler, LEADER, peer=FOLLOWER)
        state = take(spec, state, "Handle" + handler, FOLLOWER, m=head(state, LEADER, FOLLOWER))
        response = handler.replace("Do", "Handle") + "Response"
        state = take(spec, state, response, LEADER, m=head(state, FOLLOWER, LEADER))
    for number in range(length - 1):
        state = append(spec, state, f"value {number}")
    return spec, take(spec, state, "QuorumAckChecker", LEADER)


def append(spec: Spec, state: State, value: str) -> State:
    """Let the leader store an entry, and the follower too."""
    state = take(spec, state, "AppendAsLeader", LEADER, value=value)
    state = take(spec, state, "DoAppend", LEADER, peer=FOLLOWER)
    state = take(spec, state, "HandleDoAppend", FOLLOWER, m=head(state, LEADER, FOLLOWER))
    return take(spec, state, "HandleAppendResponse", LEADER, m=head(state, FOLLOWER, LEADER))


def steps(spec: Spec, state: State) -> Iterator[tuple[str, dict[str, Value], State]]:
    """Yield actions with their arguments, each with the state it is taken in."""
    yield "AppendAsLeader", {"n": LEADER, "value": "next"}, state
    yield "QuorumAckChecker", {"n": LEADER}, append(spec, state, "next")
    longer = take(spec, state, "AppendAsLeader", LEADER, value="next")
    yield "DoAppend", {"n": LEADER, "peer": FOLLOWER}, longer
    sent = take(spec, longer, "DoAppend", LEADER, peer=FOLLOWER)
    yield "HandleDoAppend", {"n": FOLLOWER, "m": head(sent, LEADER, FOLLOWER)}, sent


def take(spec: Spec, state: State, action: str, node: str, **args: Any) -> State:
    """Take a step that must be enabled."""
    after = spec.step(state, action, {"n": node, **args})
    if after is None:
        raise SystemExit(f"{action} is not enabled: {spec.explain(state, action, {'n': node, **args})}")
    return after


def head(state: State, src: str, dst: str) -> Value:
    """Return the next message of a channel."""
    return state["network"].d[src].d[dst][0]


if __name__ == "__main__":
    main()
