"""What a page shows of a spec of the reader's own: its counterexample, a trace, or what explains its logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from lockstep.base.progress import Say, silent
from lockstep.base.verdict import Verdict
from lockstep.conformance.check import TraceVerdict
from lockstep.conformance.incremental import Branching
from lockstep.conformance.interface import Interface, no_location
from lockstep.conformance.states import follow_states
from lockstep.jobs.view.known import (
    NothingToViewError,
    NoVerdictError,
    Wrong,
    properties_of,
    refuse_no_verdict,
    said_of,
    shown_of,
    shown_trace,
    subject_of,
)
from lockstep.jobs.view.window import AFTER, BEFORE, Window
from lockstep.logs.check import explain_logs, told_best
from lockstep.logs.search import Run
from lockstep.models.search_result import Engine, SpecFiles
from lockstep.models.spec_search import explore_spec
from lockstep.report.page.behaviour import Shown, Step
from lockstep.report.page.content import Subject
from lockstep.report.text import verdict_text
from lockstep.systems.judge import header_of_states
from lockstep.systems.own.subject import OwnSubject
from lockstep.systems.own.traces import check_own, of_own
from lockstep.systems.specs import Switches, compiled, system_of
from lockstep.tla.loading.load import load_spec
from lockstep.tla.loading.project import module_texts
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import TWO_SUCCESSORS, Spec
from lockstep.trace.itf import ItfTrace, is_itf, read_itf


def of_own_spec(
    spec: Path, cfg: Path, search_path: Sequence[Path] = (), jar: Path | None = None, say: Say = silent
) -> tuple[Shown, Subject]:
    """Return what a page shows of the counterexample that a search of the compiled spec finds.

    Arguments: `search_path`, further folders with modules; `jar`, the tla2tools that the spec is parsed with; `say`,
    told how many states were found.
    Raises NothingToViewError where nothing is wrong, NoVerdictError where the search gave up, and as load_spec does.
    """
    found = explore_spec(
        SpecFiles(spec, cfg, library=tuple(search_path), jar=jar),
        Engine.COMPILED,
        SearchOptions(on_progress=lambda search: say(f"{spec.name}: {search.distinct:,} distinct states")),
    )
    if found.counterexample is None:
        error = NoVerdictError if found.verdict is Verdict.INCONCLUSIVE else NothingToViewError
        raise error(f"{spec}: there is no counterexample to view: {found.reason}")
    subject = _subject(load_spec(spec, cfg, search_path=search_path, jar=jar), spec, search_path)
    wrong = Wrong(found.property or "", found.reason, found.reason, found.verdict)
    return shown_of(found.counterexample, subject, f"{spec.stem}: {found.property or found.verdict}", wrong), subject


def of_own_logs(
    paths: Sequence[Path], held: OwnSubject, search_path: Sequence[Path] = (), say: Say = silent
) -> tuple[Shown, Subject]:
    """Return what a page shows of a trace, or of the logs of one system, whose lines a mapping tells of.

    Of logs that leave something open it is one of the behaviours that explain them: one that fails nothing, if there is
    one. Where none explains all lines, it is one that explains the most of those before.
    Raises NothingToViewError where a line is malformed, NoVerdictError where the check gave up.
    """
    subject = _subject(held.spec, held.system.module, search_path)
    title = f"{', '.join(path.name for path in paths)}, {held.system.title}"
    if len(paths) == 1 and not held.always:
        (path,) = paths
        if is_itf(path):
            return _of_states(title, read_itf(path), held.interface, subject), subject
        window = Window()
        verdict = check_own(path, held.spec, held.interface, held.mapping, follower=window, say=say)
        if held.searched is None or TWO_SUCCESSORS not in verdict.reason:
            refuse_no_verdict(verdict)
            return shown_trace(title, verdict, window, subject), subject
    if held.searched is None or (len(paths) > 1 and held.searched.mapping.files != "together"):
        raise NothingToViewError(f'{paths[1]}: a page shows one trace, or logs that a mapping takes "together"')
    verdict, found = explain_logs(paths, held.searched, say=say)
    refuse_no_verdict(verdict)
    assert found is not None, "logs without a line that tells have no verdict"
    return _of_runs(title, verdict, told_best(found), subject), subject


def of_exported(path: Path, switches: Switches) -> tuple[Shown, Subject]:
    """Return what a page shows of a file of ITF that was made of a trace of a system that lockstep knows.

    Arguments: `switches`, constants that replace the header's.
    Raises TraceError where the file names no header, NothingToViewError and NoVerdictError as of_own_logs does.
    """
    behaviour = read_itf(path)
    header = header_of_states(behaviour, str(path))
    system = system_of(header, str(path))
    subject = subject_of(system, compiled(system, header, str(path), switches))
    return _of_states(f"{path.name}, {system.title}", behaviour, system.interface(subject.spec), subject), subject


def _of_states(title: str, trace: ItfTrace, interface: Interface, subject: Subject) -> Shown:
    """Return what a page shows of a behaviour of which every state is told, with the actions that lead to them."""
    verdict, taken = follow_states(trace, subject.spec, interface)
    refuse_no_verdict(of_own(verdict))
    if not taken:
        raise NothingToViewError(verdict_text(verdict).splitlines()[0])
    properties = Branching(subject.spec, one_behaviour=True)
    state, known = taken[0].state, properties.standing(taken[0].state)
    steps = [Step(0, "Init", {}, "", state.as_dict(), trace.states[0].line, known.failed)]
    for number, each in enumerate(taken[1:], 1):
        failed, known = properties.step(state, known, each.state)
        state = each.state
        steps.append(Step(number, each.action, each.args, "", state.as_dict(), trace.states[number].line, failed))
    shown = steps[-(BEFORE + AFTER) :]
    return Shown(
        title=title,
        verdict=str(verdict.verdict),
        reason=verdict.reason,
        steps=tuple(shown),
        count=steps[-1].number,
        properties=properties_of(subject.spec),
        said=tuple(said_of(verdict, shown, subject)),
        deviates=verdict.deviation is not None,
        back_to=trace.loop if len(taken) == len(trace.states) else None,
    )


def _subject(spec: Spec, module: Path, search_path: Sequence[Path]) -> Subject:
    return Subject(spec, module_texts(module, search_path), no_location)


def _of_runs(title: str, verdict: TraceVerdict, runs: Sequence[Run], subject: Subject) -> Shown:
    """Return what a page shows of a behaviour that explains lines; of a long one the last part."""
    steps = tuple(_steps(runs, subject.spec))
    whole = steps[-(BEFORE + AFTER) :]
    return Shown(
        title=title,
        verdict=str(verdict.verdict),
        reason=verdict.reason,
        steps=whole,
        count=steps[-1].number,
        properties=properties_of(subject.spec),
        said=tuple(said_of(verdict, whole, subject)),
        deviates=verdict.deviation is not None,
    )


def _steps(runs: Sequence[Run], spec: Spec) -> Iterator[Step]:
    properties = Branching(spec, one_behaviour=True)
    state = runs[0].state
    known = properties.standing(state)
    number = 0
    yield Step(0, "Init", {}, "", state.as_dict(), failed=known.failed)
    for run in runs[1:]:
        assert run.told is not None
        line = run.told
        for taken in run.steps:
            number += 1
            failed, known = properties.step(state, known, taken.state)
            step = Step(number, taken.action, taken.args, "", taken.state.as_dict(), failed=failed)
            if taken.hidden:
                yield replace(step, is_hidden=True)
            else:
                yield replace(step, line=line.number, source=line.source)
            state = taken.state
