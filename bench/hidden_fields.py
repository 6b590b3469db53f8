"""The errors that are found when a trace shows less: python bench/hidden_fields.py [--events 60] [--seeds 2] [--each 6]

Traces of the reference's clusters show everything. Here field after field of them is hidden, then what the steps'
parameters are, then whole kinds of lines, and the search must find what is left out. At each stage it is measured how
many states explain the lines, how much the variables differ among them, and how many errors are found of those
that `lockstep tamper` plants: each changes one thing of the whole trace, and is hidden as the trace is. An
error in a field that is hidden cannot be found there. The same errors are planted at each stage.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from drawing import picture

from lockstep.base.errors import BadInputError
from lockstep.conformance.comparison import equal_count
from lockstep.conformance.event_reader import EventReader
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.tampering import Tampered, Tampering, TamperingKind, TamperingOutcome, tamperings
from lockstep.logs.continuations import Continuation as Way
from lockstep.logs.explanation_search import Spread, explain
from lockstep.logs.line_order import Order
from lockstep.logs.line_steps import LineSteps
from lockstep.logs.log_lines import Claim, Thread, ThreadLine
from lockstep.report.text_table import table
from lockstep.systems.dledger import DLEDGER
from lockstep.systems.trace_files import write_cluster
from lockstep.systems.trace_specs import trace_spec
from lockstep.tla.spec import Spec
from lockstep.tla.values.quantifier_bounds import KnownValue, Matching
from lockstep.trace.trace_format import Event
from lockstep.trace.trace_reader import Trace, read_trace

PLAN = "ordered"

#: The kinds of errors, as the rows and the picture put them together.
GROUPS = {
    "values": (TamperingKind.SHOWS, TamperingKind.SENT, TamperingKind.SENT_MESSAGES),
    "parameters, nodes, actions": (
        TamperingKind.ARGS,
        TamperingKind.EXCHANGED,
        TamperingKind.NODE,
        TamperingKind.ACTION,
    ),
    "whole events": (TamperingKind.DROPPED, TamperingKind.REPEATED, TamperingKind.SWAPPED),
}

#: What addresses a message: the rest of it is in what its sender knows.
ADDRESS = ("kind", "type", "src", "dst")


@dataclass(frozen=True)
class Stage:
    """The hidden parts of a log: fields that a node shows, parts of messages, parameters, the lines of some actions."""

    title: str
    shows: frozenset[str] = frozenset()
    message: tuple[str, ...] | None = None
    parameters: frozenset[str] = frozenset()
    actions: frozenset[str] = frozenset()

    def hide(self, title: str, *, shows: str = "", parameters: str = "", actions: str = "") -> Stage:
        """Return the stage at which this is hidden as well."""
        return replace(
            self,
            title=title,
            shows=self.shows | set(shows.split()),
            parameters=self.parameters | set(parameters.split()),
            actions=self.actions | set(actions.split()),
        )


def stages() -> Iterator[Stage]:
    """Yield the stages; each hides all that the one before hides, and more."""
    stage = Stage("messages sent")
    yield stage
    for title, shows in (
        ("dispatchers", "dispatchers"),
        ("water marks, futures", "peerWaterMarks futures lastQuorumIndex"),
        ("log", "log"),
        ("checkpoint, applied", "checkPoint lastAppliedIndex"),
        ("term, vote, role, leader", "currTerm currVoteFor role leaderId"),
        ("ends of the log", "ledgerBeginIndex ledgerEndIndex ledgerEndTerm"),
        ("committed index", "committedIndex"),
    ):
        stage = stage.hide(title, shows=shows)
        yield stage
    stage = replace(stage, title="messages but for type and nodes", message=ADDRESS)
    yield stage
    stage = stage.hide("messages", parameters="m")
    yield stage
    yield stage.hide("terms, votes, peers", parameters="term candidate leader peer resurrected")


def stages_of_lines() -> Iterator[Stage]:
    """Yield the stages that hide lines, and show of the others all fields: each hides more than the one before."""
    stage = Stage("")
    for title, actions in (
        ("checker, checkpoint", "QuorumAckChecker PersistCheckPoint CheckAppendFuture"),
        ("answers arrive", "HandleAppendResponse HandleCompareResponse HandleTruncateResponse"),
        ("pushes but APPEND are sent", "DoCompare DoTruncate DoCommit PushTimeOut"),
    ):
        stage = stage.hide(f"lines: {title}", actions=actions)
        yield stage


class Hider:
    """Hides a part of a trace: an event becomes a line of a log, or nothing."""

    def __init__(self, stage: Stage, trace: Trace, spec: Spec, interface: Interface) -> None:
        """Take the stage and the trace."""
        self.stage, self.interface = stage, interface
        self.reading = EventReader(trace.source, spec.actions, interface)
        self.params = {name: action.params for name, action in spec.actions.items()}

    def line(self, event: Event) -> ThreadLine | None:
        """Return what is left of an event; raises TraceError where it is malformed."""
        if event.action in self.stage.actions:
            return None
        shows = {name: value for name, value in event.shows.items() if name not in self.stage.shows}
        node = self.reading.node(event)
        if self.reading.is_observation(event):
            return ThreadLine(event.seq, "", ((Claim("", {}, shows, node),),)) if shows else None
        bounds: dict[str, KnownValue | Matching] = {}
        for name, value in self.reading.arguments(event.seq, event).items():
            if name == "m" and self.stage.message is not None and name not in self.stage.parameters:
                parts = {key: part for key, part in event.args["m"].items() if key in self.stage.message}
                bounds[name] = Matching(name, self._like(parts))
            elif name not in self.stage.parameters:
                bounds[name] = KnownValue(name, value)
        return ThreadLine(event.seq, "", ((Claim(event.action, bounds, shows, node),),))

    def _like(self, parts: dict[str, Any]) -> Callable[[Any], bool]:
        return lambda value: equal_count(parts, value, self.interface.words) is not None


@dataclass
class HiddenTrace:
    """A trace with a part hidden: its lines, the behaviours that explain those up to each, and how many they are."""

    lines: list[ThreadLine | None]
    carried: list[list[Way]]
    spread: Spread = field(default_factory=Spread)
    complete: bool = True


class Search:
    """Goes on along the lines of a trace from the behaviours that explain those before."""

    def __init__(self, hider: Hider, events: Sequence[Event], spec: Spec, interface: Interface, most: int) -> None:
        """Take what hides a part of the lines, the trace, the spec, and how many states are carried at most."""
        self.hider, self.most = hider, most
        self.steps = LineSteps(spec, interface, hidden_between(events, hider.stage.actions))

    def along(self, carried: list[Way], line: ThreadLine | None, spread: Spread | None = None) -> list[Way]:
        """Return the behaviours that explain one line more."""
        if line is None:
            return carried
        found = explain(Order([Thread("trace", [line])]), self.steps, carried, self.most)
        if spread is not None and found.runs:
            spread.count({run.state for run in found.runs})
        return [Way(run.state, run.failed) for run in found.runs]

    def explain_all(self, events: Sequence[Event]) -> HiddenTrace:
        """Explain a trace that conforms."""
        hidden = HiddenTrace([self.hider.line(event) for event in events], [self.steps.starts()])
        for line in hidden.lines:
            hidden.carried.append(self.along(hidden.carried[-1], line, hidden.spread))
        hidden.complete = not self.steps.left_out
        if not hidden.carried[-1]:
            raise SystemExit(f"{self.hider.stage.title}: the trace is not explained: {list(self.steps.left_out)}")
        return hidden

    def judge(self, tampering: Tampering, events: Sequence[Event], hidden: HiddenTrace) -> str:
        """Return "found" or "allowed" for an error, or "open" where not every behaviour was tried."""
        begin, end = tampering.at, tampering.at + tampering.width
        carried = hidden.carried[begin]
        self.steps.left_out.clear()
        position = begin
        try:
            for event in (*tampering.replaced, *events[end:]):
                unchanged = position - begin - len(tampering.replaced)
                if unchanged >= 0 and _alike(carried, hidden.carried[end + unchanged]):
                    return "allowed"
                carried = self.along(carried, self.hider.line(event))
                if not any(not way.failed for way in carried):
                    return "open" if self.steps.left_out or not hidden.complete else "found"
                position += 1
        except BadInputError:
            return "found"
        return "allowed"


def _alike(one: Sequence[Way], other: Sequence[Way]) -> bool:
    return {(way.state, way.failed) for way in one} == {(way.state, way.failed) for way in other}


def hidden_between(events: Sequence[Event], actions: frozenset[str]) -> dict[str, int]:
    """Return how often at most each of some actions comes between two events that are of none of them."""
    most: Counter[str] = Counter()
    here: Counter[str] = Counter()
    for event in events:
        if event.action in actions:
            here[event.action] += 1
            most |= here
        else:
            here.clear()
    return dict(most)


def planted(trace: Tampered, each: int, seed: int) -> list[Tampering]:
    """Choose `each` errors of each kind."""
    by_kind: dict[TamperingKind, list[Tampering]] = {}
    for tampering in tamperings(trace.header, trace.events, trace.spec):
        if tampering.kind is not TamperingKind.SEQUENCE:  # lines of a log have no numbers of their own
            by_kind.setdefault(tampering.kind, []).append(tampering)
    chooses = random.Random(seed)
    return [one for found in by_kind.values() for one in chooses.sample(found, min(each, len(found)))]


@dataclass
class Row:
    """The figures of one stage, over all traces."""

    title: str
    lines: int = 0
    events: int = 0
    spread: Spread = field(default_factory=Spread)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: float = 0.0

    def add(self, group: str, outcome: str) -> None:
        """Count one error."""
        self.outcomes[group, outcome] += 1

    def found(self, group: str) -> float:
        """Return the share of the errors of a group that are found, in percent."""
        counts = [self.outcomes[group, outcome] for outcome in ("found", "allowed", "open")]
        return 100 * counts[0] / sum(counts)

    def open(self) -> int:
        """Return of how many errors it is not known."""
        return sum(count for (_, outcome), count in self.outcomes.items() if outcome == "open")

    def bits(self) -> float:
        """Return the mean entropy of all variables together."""
        return sum(self.spread.mean().values())

    def cells(self) -> tuple[object, ...]:
        """Return the row of the table."""
        shares = [f"{self.found(group):.0f}" for group in GROUPS]
        rate = round(self.events / self.seconds)
        return (
            self.title,
            f"{self.lines / self.events:.0%}",
            self.spread.max_states,
            f"{self.bits():.2f}",
            rate,
            *shares,
        )


def measure(paths: Sequence[Path], args: argparse.Namespace) -> list[Row]:
    """Return a row for each stage; the first one hides nothing."""
    whole = Row("nothing")
    rows = {stage: Row(stage.title) for stage in (*stages(), *stages_of_lines())}
    group_of = {kind: group for group, kinds in GROUPS.items() for kind in kinds}
    for number, path in enumerate(paths):
        trace = read_trace(path)
        spec = trace_spec(trace.header, str(path))
        interface = DLEDGER.interface(spec)
        events = [event for _, event in trace]
        begin = time.process_time()
        subject = Tampered(trace.header, events, spec, interface, str(path))
        whole.seconds += time.process_time() - begin
        whole.lines, whole.events = whole.lines + len(events), whole.events + len(events)
        whole.spread.max_states = 1
        errors = planted(subject, args.each, number)
        for error in errors:
            outcome = subject.judge(error).outcome
            whole.add(group_of[error.kind], "allowed" if outcome is TamperingOutcome.ALLOWED else "found")
        for stage, row in rows.items():
            search = Search(Hider(stage, trace, spec, interface), events, spec, interface, args.most)
            begin = time.process_time()
            hidden = search.explain_all(events)
            row.seconds += time.process_time() - begin
            row.lines, row.events = row.lines + sum(line is not None for line in hidden.lines), row.events + len(events)
            _put_together(row.spread, hidden.spread)
            for error in errors:
                row.add(group_of[error.kind], search.judge(error, events, hidden))
            print(f"{path.name}: {stage.title}: {time.process_time() - begin:.0f} s", file=sys.stderr, flush=True)
    return [whole, *rows.values()]


def _put_together(total: Spread, one: Spread) -> None:
    total.max_states, total.lines = max(total.max_states, one.max_states), total.lines + one.lines
    for name, bits in one.entropy.items():
        total.entropy[name] = total.entropy.get(name, 0.0) + bits


def main() -> None:
    """Print the table, and draw the picture if it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--each", type=int, default=6, help="errors of each kind that are planted in a trace")
    parser.add_argument("--most", type=int, default=2000, help="states that are carried at most")
    parser.add_argument("--svg", type=Path, help="where the picture goes")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        paths = [write_cluster(Path(name), PLAN, seed, args.events) for seed in range(1, args.seeds + 1)]
        rows = measure(paths, args)
    errors = sum(rows[0].outcomes.values())
    print(f"{args.seeds} clusters of plan {PLAN}, {args.events} events each; {errors} errors planted\n")
    heads = ("hidden, with all above", "lines", "states", "bits", "events/s", *(f"{group}, %" for group in GROUPS))
    print(table(heads, [row.cells() for row in rows]))
    if args.svg is not None:
        shares = {f"errors found: {group}": [row.found(group) for row in rows] for group in GROUPS}
        titles = [row.title for row in rows]
        args.svg.write_text(picture(titles, shares, "states carried", [row.spread.max_states for row in rows]), "utf-8")
    left = sum(row.open() for row in rows)
    print(f"\nnot known, since more than {args.most:,} states would have to be carried: {left}")


if __name__ == "__main__":
    main()
