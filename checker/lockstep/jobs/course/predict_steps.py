"""Grading predictions: the compiled spec takes the steps of a trace, and each answer is compared with its state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lockstep.base.package_data import course_dir
from lockstep.conformance.comparison import ObservationError, ShownValue, compare
from lockstep.conformance.event_reader import EventReader
from lockstep.conformance.property_evaluation import IncrementalEvaluation
from lockstep.conformance.spec_interface import Interface
from lockstep.jobs.course.course_exercises import TRACE, Predict, TraceQuestion
from lockstep.jobs.course.student_answers import OPEN, UNANSWERED, Grade, StudentAnswers, is_plain
from lockstep.systems.trace_specs import compiled, system_of
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import ModelValue, Value, format_value
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import Event
from lockstep.trace.trace_reader import read_trace

#: The answers for a property that no step violates, and for a node that does not exist.
NEVER, NONE = "never", "none"


@dataclass(frozen=True, slots=True)
class ExerciseRun:
    """The run of an exercise: the state after each event (-1: the initial one), and where properties fail."""

    spec: Spec
    interface: Interface
    states: Mapping[int, State]
    violations: Mapping[str, int]

    def compare(self, question: TraceQuestion, answer: Any) -> ShownValue:
        """Compare an answer with the spec.

        Raises ObservationError where the two cannot be compared, and KeyError where there is no such event.
        """
        if question.property:
            return _plain(question.name, answer, self.violations.get(question.property, NEVER))
        if question.action:
            return _plain(question.name, answer, self._may(question))
        state = self.states[question.after]
        node = self.interface.words.strings.get(question.node, question.node)
        shown: Any = None if answer == NONE else answer
        for part in reversed(question.field.split(".")):
            shown = {part: shown}
        compared = compare(shown, self.spec.evaluate(self.interface.observe, state, node), self.interface.words)
        return next((each for each in compared if not each.equal), compared[0])

    def _may(self, question: TraceQuestion) -> bool:
        event = Event(seq=0, node=question.node, action=question.action, args=question.args)
        args = EventReader(question.name, self.spec.actions, self.interface).arguments(0, event)
        return self.spec.step(self.states[question.after], question.action, args) is not None


def run_exercise(name: str) -> ExerciseRun:
    """Take the steps of an exercise's trace on the compiled spec.

    Raises TraceError where one of them is not allowed, or the trace is malformed.
    """
    trace = read_trace(course_dir() / name / TRACE)
    system = system_of(trace.header, trace.source)
    spec = compiled(system, trace.header, trace.source)
    reading = EventReader(trace.source, spec.actions, system.interface(spec))
    state = next(iter(spec.initial_states()))
    properties = IncrementalEvaluation(spec)
    properties.begin(state)
    states, violations = {-1: state}, dict[str, int]()
    for line, event in trace:
        after = spec.step(state, event.action, reading.arguments(line, event))
        if after is None:
            raise TraceError(trace.source, line, f"field `action`: {event.action} cannot be taken here")
        for each in properties.violated(state, after):
            violations[each] = event.seq
            properties.drop(each)
        states[event.seq] = state = after
    return ExerciseRun(spec, reading.interface, states, violations)


def grade_predictions(name: str, exercise: Predict, answers: StudentAnswers, show_solution: bool) -> Grade:
    """Grade the predictions of a student.

    Arguments: `show_solution`, whether the solution is printed for wrong answers.
    An answer that cannot be compared with the spec is wrong; the others are graded all the same.
    """
    run = run_exercise(name)
    lines: list[str] = []
    right = 0
    for question in exercise.questions:
        answer = answers.values[question.name]
        is_right, remarks = _grade_answer(run, question, answer, answers, show_solution)
        right += is_right
        lines += remarks
    total = len(exercise.questions)
    lines.append(f"{right} of {total} right")
    return Grade(right == total, tuple(lines))


def _grade_answer(
    run: ExerciseRun, question: TraceQuestion, answer: Any, answers: StudentAnswers, show_solution: bool
) -> tuple[bool, Iterator[str]]:
    if answer == OPEN:
        solution = _solution(run, question) if show_solution else ""
        return False, iter([f"{question.name}: {UNANSWERED}{solution}"])
    if not is_plain(answer):
        return False, iter([_other_kind(run, question, answer, answers)])
    try:
        compared = run.compare(question, answer)
    except ObservationError:
        if any(_same(each.answer, answer) for each in question.mistakes):
            return False, _wrong_answer(run, question, answer, show_solution)
        return False, iter([_other_kind(run, question, answer, answers)])
    if compared.equal:
        return True, iter([f"{question.name}: {_toml(answer)} is right"])
    return False, _wrong_answer(run, question, answer, show_solution)


def _other_kind(run: ExerciseRun, question: TraceQuestion, answer: Any, answers: StudentAnswers) -> str:
    """Return the remark on an answer of another kind than the one that is asked for."""
    place = answers.place(question.name)
    at = f" ({place})" if place else ""
    return f"{question.name}: {_toml(answer)} is not what is asked for, {answer_kind(run, question)}{at}"


def answer_kind(run: ExerciseRun, question: TraceQuestion) -> str:
    """Return the kind of an answer, with an example that does not reveal the solution."""
    if question.property:
        return f'the number of an event, or "{NEVER}"'
    if question.action:
        return "true or false"
    value = _value(run, question)
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int):
        return "a number"
    if isinstance(value, str | ModelValue):
        return f'a text, such as "n1", or "{NONE}"'
    if question.field.rpartition(".")[2] == "log":
        return 'a log, such as [{ term = 7, value = "z" }], or []'
    return "an array or a table"


def _wrong_answer(run: ExerciseRun, question: TraceQuestion, answer: Any, show_solution: bool) -> Iterator[str]:
    solution = _solution(run, question) if show_solution else ""
    yield f"{question.name}: {_toml(answer)} is not what the spec says{solution}"
    known = (each.says for each in question.mistakes if _same(each.answer, answer))
    yield f"    {next(known, question.hint)}"


def _same(left: Any, right: Any) -> bool:
    return type(left) is type(right) and bool(left == right)


def _solution(run: ExerciseRun, question: TraceQuestion) -> str:
    return f"; the spec says {expected(run, question)}"


def expected(run: ExerciseRun, question: TraceQuestion) -> str:
    """Return the answer of the spec to a question, as TLA+ writes it."""
    if question.property or question.action:
        return format_value(run.compare(question, NEVER).expected)
    return format_value(_value(run, question))


def _value(run: ExerciseRun, question: TraceQuestion) -> Value:
    """Return the field that a question asks about, in the state of the spec."""
    state = run.states[question.after]
    node = run.interface.words.strings.get(question.node, question.node)
    value = run.spec.evaluate(run.interface.observe, state, node)
    for part in question.field.split("."):
        value = value.d[run.interface.words.strings.get(part, part)]
    return value


def _plain(name: str, answer: Any, expected: str | int | bool) -> ShownValue:
    kinds = {bool} if isinstance(expected, bool) else {str, int}
    if type(answer) not in kinds and answer != NEVER:
        raise ObservationError(name, f"{_toml(answer)} cannot be compared")
    return ShownValue(name, answer, expected, _same(answer, expected))


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_toml(each)}' for key, each in value.items())} }}" if value else "{}"
    return str(value)
