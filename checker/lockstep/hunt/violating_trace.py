"""A run that violates a property as a trace: as short as it can be, confirmed by the spec.

Beside it come the scenario of its steps and a regression test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lockstep.base.deadline import Deadline
from lockstep.base.errors import BadInputError
from lockstep.base.progress import Say, silent
from lockstep.base.whole_files import writing_whole
from lockstep.conformance.trace_check import check_trace
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.hunt.example import Target, is_wanted, replay
from lockstep.hunt.search import FoundRun
from lockstep.jobs.listed_trace import ListedTrace
from lockstep.jobs.minimise_trace import minimise
from lockstep.jobs.play.play_game import play_trace
from lockstep.jobs.play.play_scenario import scenario_lines
from lockstep.report.regression_test import regression_test
from lockstep.systems.hunted_group import AnyGroup, Move
from lockstep.systems.simulated_clusters import event_of
from lockstep.systems.system import System
from lockstep.systems.trace_specs import compiled, reference_header
from lockstep.tla.spec import Spec
from lockstep.trace.trace_format import Event, Header, trace_lines
from lockstep.trace.trace_reader import Trace

#: The longest that steps are left out on the spec.
MINIMISE_SECONDS = 60.0


class UnconfirmedError(RuntimeError):
    """The spec does not violate what the search found: one of the two says a property wrongly."""


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """The files of a violation: the trace, its steps as `lockstep play` takes them, and the regression test."""

    trace: Path
    scenario: Path
    test: Path


@dataclass(frozen=True, slots=True)
class ViolatingTrace:
    """A violation that the spec has confirmed: the property, its values, and the trace of the reference."""

    name: str
    values: str
    header: Header
    events: tuple[Event, ...]
    verdict: TraceVerdict

    def steps(self) -> Iterator[str]:
        """Yield each step as a line."""
        for number, event in enumerate(self.events, start=1):
            yield f"{number:3}. {event.node} {event.action}{_arguments(event.args)}"

    def write(self, folder: Path, stem: str) -> WrittenFiles:
        """Write the trace, its scenario and its regression test into a folder; return their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        lines = [line.decode() for line in trace_lines(self.header, self.events)]
        trace, scenario = (folder / f"{stem}.{kind}.ndjson" for kind in ("trace", "scenario"))
        test = folder / f"test_{stem}.py"
        with writing_whole(trace) as file:
            file.write("".join(lines).encode())
        with writing_whole(test) as file:
            file.write(regression_test(stem, lines, self.verdict, switches={}).encode())
        game = play_trace(trace)
        with writing_whole(scenario) as file:
            file.writelines(scenario_lines(game, game.begin))
        return WrittenFiles(trace, scenario, test)


def _arguments(args: Mapping[str, Any]) -> str:
    said = [_message(value) if isinstance(value, dict) and "kind" in value else str(value) for value in args.values()]
    return f"({', '.join(said)})" if said else ""


def _message(message: Mapping[str, Any]) -> str:
    """Return a message in a few words."""
    shown = {name: value for name, value in message.items() if name not in _LEFT_OUT and isinstance(value, int | str)}
    rest = "".join(f" {name} {value}" for name, value in shown.items())
    return f"{message['type']} {message['kind']} from {message['src']}{rest}"


#: The fields of a message that are said otherwise, or not at all.
_LEFT_OUT = frozenset({"kind", "type", "src", "dst", "awaited"})


def confirmed(system: System, wanted: Target, found: FoundRun, scenario: str, say: Say = silent) -> ViolatingTrace:
    """Return a run as a trace that is as short as it can be, whose violation the spec has confirmed.

    Steps are left out on the spec as `lockstep minimise` does, within a minute; the reference takes what is left, and
    its trace is checked.

    Arguments: `system`; `wanted`, the target of the search; `found`, the run; `scenario`, how to find it again.
    Raises UnconfirmedError where the spec holds.
    """
    name = found.violation[0]
    header = reference_header(system, found.plan, "lockstep hunt", scenario)
    say("compiling the spec")
    spec = compiled(system, header, "the trace found")
    run = _shorter_on_spec(system, wanted, found, header, spec, say)
    events = tuple(_events(wanted, run))
    verdict = check_trace(ListedTrace.numbered("", events), spec, system.interface(spec))
    if name not in verdict.violations:
        raise UnconfirmedError(f"the spec does not confirm that {name} is violated: {verdict.reason}")
    return ViolatingTrace(name, run.violation[1], header, events, verdict)


def _events(wanted: Target, run: FoundRun) -> Iterator[Event]:
    group = wanted.hunted.recorded(run.plan)
    for node, action, args in run.moves:
        yield event_of(group.take(node, action, *args))


def _shorter_on_spec(system: System, wanted: Target, found: FoundRun, header: Header, spec: Spec, say: Say) -> FoundRun:
    """Leave out what the spec can do without; keep the run where that leads to nothing, or to another violation."""
    given = Trace(trace_lines(header, _events(wanted, found)), "the trace found")
    given.least_integer = system.least_integer
    try:
        shorter = minimise(given, spec, system, only=found.violation[0], deadline=Deadline(MINIMISE_SECONDS), say=say)
    except BadInputError:
        return found
    only = replace(wanted, properties=frozenset({found.violation[0]}))
    record = replay(only, found.plan, list(_moves(wanted.hunted.recorded(found.plan), shorter.events)))
    if record.violation is None or not is_wanted(only, found.plan, record) or len(record.moves) > len(found.moves):
        return found
    return FoundRun(found.plan, tuple(record.moves), record.violation)


def _moves(group: AnyGroup, events: Sequence[Event]) -> Iterator[Move]:
    for event in events:
        args = group.arguments(event.action, event.args)
        if args is not None:
            yield event.node, event.action, tuple(args)
