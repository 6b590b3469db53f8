"""Grading predictions: the compiled spec takes the steps of a trace, and each answer is held beside its state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lockstep.base.package_data import course_dir
from lockstep.conformance.comparison import ObservationError, ShownValue, compare
from lockstep.conformance.event_reader import EventReader
from lockstep.conformance.property_evaluation import IncrementalEvaluation
from lockstep.conformance.spec_interface import Interface
from lockstep.jobs.course.course_exercises import TRACE, Predict, Question
from lockstep.jobs.course.student_answers import OPEN, UNANSWERED, Answers, Graded, is_plain
from lockstep.systems.trace_specs import compiled, system_of
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import ModelValue, Value, format_value
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import Event
from lockstep.trace.trace_reader import read_trace

#: What an answer says where no step violates the property, and where there is no such node.
NEVER, NONE = "never", "none"


@dataclass(frozen=True, slots=True)
class Taken:
    """The steps of an exercise, taken: the state after each event (-1: the initial one), and where properties fail."""

    spec: Spec
    interface: Interface
    states: Mapping[int, State]
    violations: Mapping[str, int]

    def right(self, question: Question, answer: Any) -> ShownValue:
        """Hold an answer beside what the spec says.

        Raises ObservationError where the two cannot be compared, and KeyError where the question names no event.
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

    def _may(self, question: Question) -> bool:
        event = Event(seq=0, node=question.node, action=question.action, args=question.args)
        args = EventReader(question.name, self.spec.actions, self.interface).arguments(0, event)
        return self.spec.step(self.states[question.after], question.action, args) is not None


def take_steps(name: str) -> Taken:
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
    return Taken(spec, reading.interface, states, violations)


def grade_predictions(name: str, exercise: Predict, answers: Answers, show_solution: bool) -> Graded:
    """Grade the predictions of a student.

    Arguments: `show_solution`, whether what the spec says is told of wrong answers, too.
    An answer that cannot be compared with what the spec says is wrong; the others are graded all the same.
    """
    taken = take_steps(name)
    lines: list[str] = []
    right = 0
    for question in exercise.questions:
        answer = answers.values[question.name]
        is_right, said = _graded(taken, question, answer, answers, show_solution)
        right += is_right
        lines += said
    total = len(exercise.questions)
    lines.append(f"{right} of {total} right")
    return Graded(right == total, tuple(lines))


def _graded(
    taken: Taken, question: Question, answer: Any, answers: Answers, show_solution: bool
) -> tuple[bool, Iterator[str]]:
    if answer == OPEN:
        solution = _solution(taken, question) if show_solution else ""
        return False, iter([f"{question.name}: {UNANSWERED}{solution}"])
    if not is_plain(answer):
        return False, iter([_other_kind(taken, question, answer, answers)])
    try:
        compared = taken.right(question, answer)
    except ObservationError:
        if any(_same(each.answer, answer) for each in question.mistakes):
            return False, _told(taken, question, answer, show_solution)
        return False, iter([_other_kind(taken, question, answer, answers)])
    if compared.equal:
        return True, iter([f"{question.name}: {_toml(answer)} is right"])
    return False, _told(taken, question, answer, show_solution)


def _other_kind(taken: Taken, question: Question, answer: Any, answers: Answers) -> str:
    """Say of an answer that cannot be compared with what the spec says what is asked for."""
    place = f"{answers.path}:{answers.lines.get(question.name, 1)}"
    return f"{question.name}: {_toml(answer)} is not of the kind that is asked for, {_kind(taken, question)} ({place})"


def _kind(taken: Taken, question: Question) -> str:
    """Name the kind of an answer, with an example that says nothing of the right one."""
    if question.property:
        return f'the number of an event, or "{NEVER}"'
    if question.action:
        return "true or false"
    value = _value(taken, question)
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int):
        return "a number"
    if isinstance(value, str | ModelValue):
        return f'a text, such as "n1", or "{NONE}"'
    if question.field.rpartition(".")[2] == "log":
        return 'a log, such as [{ term = 7, value = "z" }], or []'
    return "an array or a table"


def _told(taken: Taken, question: Question, answer: Any, show_solution: bool) -> Iterator[str]:
    solution = _solution(taken, question) if show_solution else ""
    yield f"{question.name}: {_toml(answer)} is not what the spec says{solution}"
    known = (each.says for each in question.mistakes if _same(each.answer, answer))
    yield f"    {next(known, question.hint)}"


def _same(left: Any, right: Any) -> bool:
    return type(left) is type(right) and bool(left == right)


def _solution(taken: Taken, question: Question) -> str:
    return f"; the spec says {expected(taken, question)}"


def expected(taken: Taken, question: Question) -> str:
    """Say what the spec says to a question, as TLA+ writes it."""
    if question.property or question.action:
        return format_value(taken.right(question, NEVER).expected)
    return format_value(_value(taken, question))


def _value(taken: Taken, question: Question) -> Value:
    """Return what the spec says of the field that a question asks about."""
    state = taken.states[question.after]
    node = taken.interface.words.strings.get(question.node, question.node)
    value = taken.spec.evaluate(taken.interface.observe, state, node)
    for part in question.field.split("."):
        value = value.d[taken.interface.words.strings.get(part, part)]
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
