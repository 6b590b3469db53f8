"""Grading a bug hunt: bug and correction are planted in the reference, and its clusters are checked."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from lockstep.base.errors import BadInputError
from lockstep.base.spelling import did_you_mean
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_check import check_trace
from lockstep.conformance.trace_verdict import Finding
from lockstep.jobs.course.course_exercises import TRACE, ExerciseCluster, FindBug, refuse_overwriting
from lockstep.jobs.course.plant_expression import ExpressionError, ReferenceMethod, methods_of
from lockstep.jobs.course.student_answers import OPEN, UNANSWERED, Grade, StudentAnswers
from lockstep.jobs.listed_trace import ListedTrace
from lockstep.systems.registry import simulators
from lockstep.systems.system import System
from lockstep.systems.trace_specs import compiled
from lockstep.tla.spec import Spec
from lockstep.trace.trace_format import Header, write_trace

#: The fields of an answer.
METHOD, EXPRESSION = "method", "expression"


def write_flawed_trace(exercise: FindBug, folder: Path) -> Path:
    """Run the first cluster with the bug planted, and write its trace into the folder; return the file.

    Raises BadInputError if the file exists.
    """
    path = folder / TRACE
    refuse_overwriting([path])
    header, trace = _cluster(exercise, exercise.clusters[0], _expression(exercise.changed))
    folder.mkdir(parents=True, exist_ok=True)
    write_trace(path, header, (event for _, event in trace))
    return path


def grade_correction(exercise: FindBug, answers: StudentAnswers, show_solution: bool) -> Grade:
    """Grade the method that a student names, and the expression that belongs there.

    Raises AnswerError where there is no such method, or the expression is not allowed; it has not run then.
    """
    name, text = answers.values[METHOD], answers.values[EXPRESSION]
    solution = (f"it is {exercise.method}: {exercise.expression}",) if show_solution else ()
    for field in (METHOD, EXPRESSION):
        if not isinstance(answers.values[field], str):
            raise answers.malformed(field, "not a string")
    if name == OPEN:
        return Grade(False, (f"{METHOD}: {UNANSWERED}", f"    {exercise.hint}", *solution))
    known = methods_of(exercise.module)
    if name not in known:
        raise answers.malformed(METHOD, f"{exercise.module} has no method {name!r}{did_you_mean(name, known)}")
    if name != exercise.method:
        still = _first_deviation(exercise, _expression(exercise.changed))
        line = f"{METHOD}: {name} is as it should be, and the cluster still leaves the spec: {still}"
        return Grade(False, (line, f"    {exercise.hints.get(name, exercise.hint)}", *solution))
    if text == OPEN:
        return Grade(False, (f"{METHOD}: {name} is right", f"{EXPRESSION}: {UNANSWERED}", *solution))
    try:
        correction = ReferenceMethod(exercise.module, exercise.method).expression(text)
    except ExpressionError as error:
        raise answers.malformed(EXPRESSION, str(error)) from error
    found = _first_deviation(exercise, correction)
    if found:
        return Grade(False, (f"{METHOD}: {name} is right", f"{EXPRESSION}: with `{text}` {found}", *solution))
    count = len(exercise.clusters) * exercise.events
    return Grade(True, (f"{METHOD}: {name} is right", f"{EXPRESSION}: with `{text}` all {count} events conform"))


def cluster_specs(exercise: FindBug) -> Iterator[Spec]:
    """Yield the specs that the clusters of an exercise are checked against."""
    for cluster in exercise.clusters:
        header, trace = _cluster(exercise, cluster, _expression(exercise.changed))
        yield compiled(_system(cluster), header, trace.source)


def _first_deviation(exercise: FindBug, planted: ast.expr) -> str:
    """Return where a cluster with this expression planted does not conform to the spec first; "" where all do."""
    for cluster in exercise.clusters:
        try:
            header, trace = _cluster(exercise, cluster, planted)
        except Exception as error:  # A wrong expression may raise anything in the reference.
            return f"the reference stops: {type(error).__name__}: {error}"
        system = _system(cluster)
        spec = compiled(system, header, trace.source)
        verdict = check_trace(trace, spec, system.interface(spec))
        if verdict.deviation is not None:
            return _deviation_text(verdict.deviation, cluster)
        if verdict.verdict is not Verdict.HOLDS:
            return f"{cluster}, after event {verdict.events - 1}: {verdict.reason}"
        if verdict.events < exercise.events:
            return f"{cluster}: no more than {verdict.events} of {exercise.events} events happen in the cluster"
    return ""


def _deviation_text(found: Finding, cluster: ExerciseCluster) -> str:
    what = found.details[0] if found.details else "the spec allows no such step"
    return f"{cluster}, event {found.seq}, {found.action} of {found.node}: {what}"


def _system(cluster: ExerciseCluster) -> System:
    return simulators()[cluster.plan][0]


def _cluster(exercise: FindBug, cluster: ExerciseCluster, planted: ast.expr) -> tuple[Header, ListedTrace]:
    _, simulator = simulators()[cluster.plan]
    with ReferenceMethod(exercise.module, exercise.method).planted(exercise.expression, planted):
        header, events = simulator.cluster(cluster.plan, cluster.seed, exercise.events)
        return header, ListedTrace.numbered(str(cluster), events)


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def check_description(exercise: FindBug) -> str:
    """Return how the bug of an exercise shows; raises BadInputError where it does not."""
    found = _first_deviation(exercise, _expression(exercise.changed))
    if not found:
        raise BadInputError(f"{exercise.method}: no cluster shows `{exercise.changed}`")
    return found
