"""A trace, a file of ITF, or the logs of one system, as a behaviour to show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec

from lockstep.base.progress import Say, silent
from lockstep.base.verdict import Verdict
from lockstep.conformance.diagnosis import Diagnosis
from lockstep.conformance.state_check import follow_states
from lockstep.conformance.trace_verdict import Fault, TraceVerdict
from lockstep.jobs.view.answer import diagnose, origins_of, shown_diagnosis
from lockstep.jobs.view.counterexample_view import page_context
from lockstep.jobs.view.remarks import failed_properties, remarks_on
from lockstep.jobs.view.trace_window import AFTER, BEFORE, TraceWindow
from lockstep.logs.explanation_search import ExplainingRun
from lockstep.logs.log_check import best_explanation, explain_logs
from lockstep.logs.log_deviation import UnexplainedLine
from lockstep.logs.log_lines import ThreadLine
from lockstep.logs.refutation import Reason
from lockstep.models.search_result import SpecFiles
from lockstep.report.page.page_content import PageContext
from lockstep.report.page.shown_behaviour import NothingToShowError, NoVerdictError, Origin, ShownBehaviour, ShownStep
from lockstep.report.verdict_text import verdict_text
from lockstep.systems.file_check import KnownTraceCheck, OwnTraceCheck
from lockstep.systems.log_diagnosis import log_diagnosis
from lockstep.systems.mapped_spec import MappedSpec, load_mapped_spec
from lockstep.systems.own_traces import as_own_mistake
from lockstep.systems.trace_diagnosis import diagnosis_or_note
from lockstep.systems.trace_files import open_trace
from lockstep.systems.trace_specs import Switches, compiled, expanded, header_of_states, system_of
from lockstep.tla.loading.spec_project import module_texts
from lockstep.tla.spec import Spec
from lockstep.trace.itf_reader import ItfTrace, is_itf, read_itf
from lockstep.trace.trace_format import OBSERVE, Header
from lockstep.trace.trace_reader import read_trace


def view_trace(
    path: Path, switches: Switches, say: Say = silent, *, whole: bool = False, diagnoses: bool = False
) -> tuple[ShownBehaviour, PageContext]:
    """Return a trace, or a file of ITF that was made of one, of a system that lockstep knows.

    Arguments: `switches`, constants that replace the header's; `say`, called with how far the check is; `whole`, all
    steps of a trace, not only the part around what is wrong; `diagnoses`, whether the cause of a deviation is looked
    for.
    Raises NothingToShowError where it is malformed, NoVerdictError where the check gave up, TraceError where a file of
    ITF names no header.
    """
    if is_itf(path):
        behaviour = read_itf(path)
        context = _known_context(header_of_states(behaviour, str(path)), path, switches)
        why = partial(KnownTraceCheck(switches).diagnosis, path) if diagnoses else None
        return _states(f"{path.name}, {context.system.title}", behaviour, context, why, whole=whole), context
    window = TraceWindow(whole=whole)
    check = KnownTraceCheck(switches, say=say, listener=window)
    verdict = check(path)
    refuse_no_verdict(verdict)
    if diagnoses:
        diagnose(verdict, path, check.diagnosis, say)
    context = _known_context(open_trace(path).header, path, switches)
    say(f"{path}: the states to show")
    steps = tuple(window.steps(context.spec))
    shown = _behaviour(f"{path.name}, {context.system.title}", verdict, steps, window.count, context)
    return replace(shown, by_line=True), context


def _known_context(header: Header, path: Path, switches: Switches) -> PageContext:
    """Return the context of a trace of a system that lockstep knows, its header with the constants of the switches."""
    system = system_of(header, str(path))
    context = page_context(system, compiled(system, header, str(path), switches))
    chosen = {} if system.constants is None else expanded(system.constants, switches)
    return replace(context, header=msgspec.structs.replace(header, constants={**header.constants, **chosen}))


def view_own_logs(
    paths: Sequence[Path],
    files: SpecFiles,
    say: Say = silent,
    *,
    whole: bool = False,
    diagnoses: bool = False,
    diagnosed: Diagnosis | None = None,
) -> tuple[ShownBehaviour, PageContext]:
    """Return a trace, or the logs of one system, of a spec of the user's own.

    Logs that leave something open are shown by one of the behaviours that explain them: one that fails nothing, if
    there is one. Where none explains all lines, it is one that explains the most lines before.
    Arguments: as of view_trace; `diagnosed`, the cause of the deviation, if it was found before.
    Raises NothingToShowError where a line is malformed, NoVerdictError where the check gave up; BadInputError as
    load_mapped_spec does.
    """
    own = load_mapped_spec(files)
    context = PageContext(own.system, own.spec, module_texts(own.system.module, files.library))
    title = f"{', '.join(path.name for path in paths)}, {own.system.title}"
    if len(paths) == 1 and not own.needs_search:
        (path,) = paths
        if is_itf(path):
            why = partial(OwnTraceCheck(own, say=say).diagnosis, path) if diagnoses else None
            return _states(title, read_itf(path), context, why, whole=whole), context
        window = TraceWindow(whole=whole)
        check = OwnTraceCheck(own, listener=window, say=say)
        verdict = check.check_steps(path)
        if own.logs is None or verdict.fault is not Fault.TWO_SUCCESSORS:
            refuse_no_verdict(verdict)
            if diagnosed is not None:
                verdict.explain(diagnosed)
            elif diagnoses:
                diagnose(verdict, path, check.diagnosis, say)
            shown = _behaviour(title, verdict, tuple(window.steps(own.spec)), window.count, context)
            origins = origins_of(read_trace(path).header, None) if own.mapping is None else ()
            return replace(shown, origins=origins, by_line=True), context
    if own.logs is None or (len(paths) > 1 and own.logs.mapping.files != "together"):
        raise NothingToShowError(f'{paths[1]}: a page shows one trace, or logs that a mapping takes "together"')
    refuted: list[UnexplainedLine] = []
    verdict, found = explain_logs(paths, own.logs, say=say, on_refuted=refuted.append)
    refuse_no_verdict(verdict)
    assert found is not None, "logs without a verdict were refused"
    way, runs = None, best_explanation(found)
    if refuted and refuted[0].reasons:
        way = _diagnosed_way(verdict, refuted[0], own, say if diagnoses else None, diagnosed)
        runs = way.at.run.whole()
    steps = list(_explaining_steps(runs, own.spec, way, None if way is None else refuted[0].blocked.line))
    if way is not None:
        steps.append(_refused_step(steps[-1], way, refuted[0].blocked.line))
    shown = _behaviour(title, verdict, _end(steps, whole), steps[-1].number, context)
    notes = tuple(Origin("note", note.removeprefix("note: ")) for note in verdict.notes)
    return replace(shown, by_log=True, origins=notes), context


def _diagnosed_way(
    verdict: TraceVerdict, refuted: UnexplainedLine, own: MappedSpec, say: Say | None, diagnosed: Diagnosis | None
) -> Reason:
    """Add to a verdict why nothing explains a line, with `say` if that is to be looked for; return the nearest reason.

    With a cause that was looked for here, it is the reason that the cause does away with.
    """
    ways = [refuted.reasons[0][0]]
    if diagnosed is not None:
        verdict.explain(diagnosed)
    elif say is not None:
        say(f"{verdict.source}: looking for the cause of line {refuted.blocked.line.number}")
        verdict.explain(diagnosis_or_note(lambda: log_diagnosis(refuted, own, ways.append)))
    return ways[-1]


def refuse_no_verdict(verdict: TraceVerdict) -> None:
    """Raise NothingToShowError where a trace is malformed, NoVerdictError where its check gave up.

    A trace that goes wrong in a disputed order has no verdict, but something to show.
    """
    is_disputed = any(finding.disputed for finding in verdict.findings)
    if verdict.verdict not in (Verdict.HOLDS, Verdict.VIOLATED) and not is_disputed:
        error = NothingToShowError if verdict.verdict is Verdict.MALFORMED else NoVerdictError
        raise error(verdict_text(verdict).splitlines()[0])


def _behaviour(
    title: str, verdict: TraceVerdict, steps: tuple[ShownStep, ...], count: int, context: PageContext
) -> ShownBehaviour:
    return ShownBehaviour(
        title=title,
        verdict=str(verdict.verdict),
        reason=verdict.reason,
        steps=steps,
        count=count,
        properties=context.properties,
        remarks=tuple(remarks_on(verdict, steps, context)),
        deviates=verdict.deviation is not None,
        diagnosis=shown_diagnosis(verdict, steps, context),
        origins=() if context.header is None else origins_of(context.header, context.system),
    )


def _end(steps: Sequence[ShownStep], whole: bool) -> tuple[ShownStep, ...]:
    return tuple(steps if whole else steps[-(BEFORE + AFTER) :])


def _states(
    title: str,
    trace: ItfTrace,
    context: PageContext,
    why: Callable[[], Diagnosis | None] | None,
    *,
    whole: bool,
) -> ShownBehaviour:
    """Return a behaviour that is given by its states, with the actions that lead to them.

    Arguments: `why`, its diagnosis, if that is to be shown.
    """
    check = follow_states(trace, context.spec, context.system.interface(context.spec))
    verdict, taken, refused = check.result, check.taken, check.refused
    refuse_no_verdict(as_own_mistake(verdict))
    if why is not None and verdict.explicable is not None:
        verdict.explain(why())
    failed = failed_properties(context.spec, (each.state for each in taken)) if taken else iter(())
    steps = [
        ShownStep(number, each.action, each.args, "", each.state.as_dict(), read.line, names)
        for number, (each, read, names) in enumerate(zip(taken, trace.states, failed, strict=False))
    ]
    if refused is not None and not refused.goes_back:
        line = trace.states[refused.index].line
        steps.append(ShownStep(refused.index, "", {}, "", refused.given, line, is_refused=True))
    behaviour = _behaviour(title, verdict, _end(steps, whole), len(trace.states) - 1, context)
    return replace(behaviour, back_to=trace.loop if len(taken) == len(trace.states) else None)


def _explaining_steps(
    runs: Sequence[ExplainingRun], spec: Spec, way: Reason | None, refuted: ThreadLine | None
) -> Iterator[ShownStep]:
    """Yield the steps of a behaviour that explains the lines of logs, up to a reason why it does not go on."""
    taken = [(run.line, step) for run in runs[1:] for step in run.steps]
    taken += [] if way is None else [(refuted, step) for step in way.at.path.steps]
    failed = failed_properties(spec, [runs[0].state, *(step.state for _, step in taken)])
    yield ShownStep(0, "Init", {}, "", runs[0].state.as_dict(), failed=next(failed))
    for number, ((line, step), names) in enumerate(zip(taken, failed, strict=True), 1):
        shown = ShownStep(number, step.action, step.args, "", step.state.as_dict(), failed=names)
        assert line is not None
        yield replace(shown, is_hidden=True) if step.hidden else replace(shown, line=line.number, source=line.source)


def _refused_step(last: ShownStep, way: Reason, line: ThreadLine) -> ShownStep:
    """Return the step of a line that a behaviour does not go on with, after its last one."""
    action, args = way.at.claim.action or OBSERVE, way.args or {}
    return ShownStep(last.number + 1, action, args, "", last.state, line.number, is_refused=True, source=line.source)
