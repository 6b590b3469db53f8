"""What is exported: a trace, or a model's counterexample, as a behaviour with its states, and as the steps to draw."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from lockstep.base.characters import visible_line
from lockstep.base.errors import BadInputError
from lockstep.base.progress import Say, silent
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.trace_check import TraceCheck, check_trace
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.jobs.view.trace_view import counterexample, of_model, refuse_no_verdict, replayed, subject_of
from lockstep.models.model_manifest import Manifest, ModelEntry
from lockstep.report.counterexample_steps import itf
from lockstep.report.page.page_content import Subject
from lockstep.report.page.shown_behaviour import Shown, Step
from lockstep.report.space_time_diagram import Drawn, drawn
from lockstep.report.verdict_text import finding_text, verdict_text
from lockstep.systems.own_traces import load_own_spec, own_system
from lockstep.systems.system import System
from lockstep.systems.trace_files import open_trace
from lockstep.systems.trace_specs import Switches, compiled, expanded, system_of
from lockstep.tla.behaviour import Behaviour, Taken
from lockstep.tla.spec import Spec
from lockstep.tla.values.itf_values import from_itf, to_itf
from lockstep.tla.values.kinds import ModelValue
from lockstep.trace.itf_reader import HEADER
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_reader import Trace, read_trace


class NotExportedError(BadInputError):
    """What is asked for cannot be said in that form; the message says why."""


@dataclass(frozen=True, slots=True)
class Own:
    """A spec of the reader's own: module, cfg, further folders with modules, and the tla2tools to parse it with."""

    module: Path
    cfg: Path
    library: Sequence[Path] = ()
    jar: Path | None = None


@dataclass(frozen=True, slots=True)
class Exported:
    """A trace that was checked, and what it was checked against; it is read again for each form."""

    path: Path
    system: System
    spec: Spec
    verdict: TraceVerdict
    is_own: bool

    def opened(self) -> Trace:
        """Open the trace once more."""
        return read_trace(self.path) if self.is_own else open_trace(self.path)

    @property
    def said(self) -> str:
        """The verdict, in the line that `lockstep check` prints."""
        return verdict_text(self.verdict).splitlines()[0]


def checked(path: Path, switches: Switches, own: Own | None) -> Exported:
    """Check a trace that is to be exported.

    Arguments: `switches`, constants that replace the header's; `own`, the spec where it is the reader's own.
    Raises NothingToViewError where the trace is malformed, NoVerdictError where the check came to no verdict.
    """
    if own is None:
        trace = open_trace(path)
        system = system_of(trace.header, trace.source)
        spec = compiled(system, trace.header, trace.source, switches)
    else:
        trace = read_trace(path)
        system = own_system(own.module, own.cfg)
        if trace.header.spec != system.spec:
            raise TraceError(trace.source, 1, f"field `spec`: {trace.header.spec!r} is not {system.spec!r}")
        if trace.header.constants:
            raise TraceError(trace.source, 1, "field `constants`: those of the reader's own spec come from the cfg")
        spec = load_own_spec(system, own.library, own.jar)
    verdict = check_trace(trace, spec, system.interface(spec))
    refuse_no_verdict(verdict)
    return Exported(path, system, spec, verdict, own is not None)


def drawn_trace(found: Exported, last: int | None) -> Drawn:
    """Return a trace as steps and messages.

    Arguments: `last`, how many steps, up to what is wrong first, or to the end; None: all.
    """
    trace = found.opened()
    steps = [*replayed(TraceCheck(trace, found.spec, found.system.interface(found.spec)), found.spec)]
    subject = subject_of(found.system, found.spec)
    wrong = {}
    for finding in reversed(found.verdict.findings):
        wrong[finding.line] = finding_text("", finding).splitlines()[0].partition(": ")[2]
    said = found.said.removeprefix(f"{visible_line(found.verdict.source)}: ")  # the title names the file
    return drawn(found.path.name, said, _last(steps, wrong, last), subject, trace.header.nodes, wrong)


def _last(steps: list[Step], wrong: Mapping[int, str], last: int | None) -> list[Step]:
    """Return the last steps, after the one whose state they begin in."""
    if last is None:
        return steps
    end = next((place for place, step in enumerate(steps) if step.line in wrong), len(steps) - 1)
    return steps[max(0, end - last) : end + 1]


def drawn_model(manifest: Manifest, model: ModelEntry, system: System, last: int | None, say: Say = silent) -> Drawn:
    """Return the counterexample of a model as steps and messages; raises NothingToViewError where there is none."""
    shown, subject = of_model(manifest, model, system, say)
    steps = list(shown.steps)
    kept = steps if last is None else steps[max(0, len(steps) - 1 - last) :]
    told = f"{model.name}: {shown.verdict}: {shown.reason}"
    return drawn(model.name, told, kept, subject, wrong_steps={said.number: said.title for said in shown.said})


def drawn_shown(shown: Shown, subject: Subject, last: int | None) -> Drawn:
    """Return a behaviour that a page shows as steps; `last` as for drawn_trace."""
    wrong = {said.number: said.title for said in shown.said}
    steps = list(shown.steps)
    if last is not None:
        end = next((place for place, step in enumerate(steps) if step.number in wrong), len(steps) - 1)
        steps = steps[max(0, end - last) : end + 1]
    return drawn(shown.title, f"{shown.verdict}: {shown.reason}", steps, subject, wrong_steps=wrong)


# ---- States ----


def itf_of_trace(found: Exported, switches: Switches) -> bytes:
    """Return the behaviour that a trace is, as a file of ITF that `lockstep check` gives the same verdict.

    Of a system that lockstep knows, the `#meta` has the header with the constants as the switches choose them.
    Raises NotExportedError where the trace leaves the spec: its last states are not told, and ITF holds nothing else.
    """
    if (left := found.verdict.deviation) is not None:
        raise NotExportedError(
            f"{found.path}:{left.line}: the trace leaves the spec here, and tells no whole state: as ITF, which holds "
            "states alone, it would hold"
        )
    trace = found.opened()
    chosen = {} if found.system.constants is None else expanded(found.system.constants, switches)
    header = msgspec.structs.replace(trace.header, constants={**trace.header.constants, **chosen})
    further = {} if found.is_own else {HEADER: msgspec.to_builtins(header)}
    behaviour = Behaviour(tuple(_taken(trace, found)))
    _refuse_confused(behaviour, str(found.path), found.system.interface(found.spec))
    return _written(behaviour, found.system, ", ".join(found.verdict.violations) or None, further)


def itf_of_shown(shown: Shown, system: System, spec: Spec) -> bytes:
    """Return a behaviour that a page shows as a file of ITF.

    Raises NotExportedError where a part of it is left out, and where it leaves the spec, as in itf_of_trace.
    """
    if len(shown.steps) <= shown.count:
        raise NotExportedError(f"{shown.title}: of {shown.count + 1:,} states only {len(shown.steps):,} are kept")
    failed = [name for step in shown.steps for name in sorted(step.failed)]
    if shown.deviates or any(step.is_refused for step in shown.steps):
        raise NotExportedError(f"{shown.title}: {shown.reason}: as ITF, which holds states alone, it would hold")
    taken = (Taken(step.action, step.args, "", step.state) for step in shown.steps)
    behaviour = Behaviour(tuple(taken))
    _refuse_confused(behaviour, shown.title, system.interface(spec))
    return _written(behaviour, system, ", ".join(dict.fromkeys(failed)) or None, {})


def _taken(trace: Trace, found: Exported) -> Iterator[Taken]:
    check = TraceCheck(trace, found.spec, found.system.interface(found.spec))
    state = check.initial()
    yield Taken("Init", {}, "", state.as_dict())
    for line, event in trace:
        after = check.advance(state, line, event)
        assert after is not None, "a trace without a deviation is a behaviour"
        if not check.reading.is_observation(event):
            args = check.reading.arguments(line, event)
            yield Taken(event.action, args, str(found.spec.actions[event.action].loc), after.as_dict())
            state = after


def _refuse_confused(behaviour: Behaviour, source: str, interface: Interface) -> None:
    """Raise NotExportedError where a string of the trace reads like a model value: in ITF the two are one."""
    null = interface.words.null
    names = frozenset(interface.words.strings) | ({null.name} if isinstance(null, ModelValue) else set())
    for number, step in enumerate(behaviour.steps):
        for name, value in step.state.items():
            if from_itf(to_itf(value), names) != value:
                raise NotExportedError(
                    f"{source}: {name} of state {number} has a string that is called like a model value, "
                    f"one of {', '.join(sorted(names))}; ITF cannot tell them apart"
                )


def itf_of_model(manifest: Manifest, model: ModelEntry, system: System, say: Say = silent) -> bytes:
    """Return the counterexample of a model as a file of ITF; raises NothingToViewError where there is none."""
    _, behaviour, label = counterexample(manifest, model, say)
    return _written(behaviour, system, label, {})


def _written(behaviour: Behaviour, system: System, violated: str | None, further: dict[str, object]) -> bytes:
    tree = itf(behaviour, system.module.name, violated, further)
    return (json.dumps(tree, indent=1) + "\n").encode()
