"""Grading a guard: the module with the student's text in its hole is explored, state by state.

A guard that breaks no property of a small model may still differ from the intended rule: it may ignore the terms, or
let only one node win. So both are tried in every state that the rule reaches, in that model and in another one. They
are the same if they allow the same steps, however they are written; a step that changes nothing does not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockstep.base.characters import counted
from lockstep.base.errors import BadInputError
from lockstep.base.package_data import course_dir, spec_dir
from lockstep.base.scratch import scratch
from lockstep.base.text_files import text_of
from lockstep.jobs.course.course_exercises import WriteGuard
from lockstep.jobs.course.student_answers import Grade
from lockstep.tla.exploration import Exploration, Violation
from lockstep.tla.explore import explore
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Value, format_value

#: The lines between which the guard stands.
BEGINS, ENDS = r"\* -- your guard begins", r"\* -- your guard ends"

_CHANGED = "changed: only the text between the two lines may differ"

#: More states than any exercise has, even without a guard.
MAX_STATES = 100_000


class GuardError(BadInputError):
    """A module differs from the exercise's by more than its guard; the message names file and line."""


def guard_files(name: str, exercise: WriteGuard) -> tuple[Path, Path, tuple[Path, ...]]:
    """Return the module that leaves the guard open, its cfg, and the folders of the modules that it extends."""
    module = course_dir() / name / f"{exercise.module}.tla"
    library = spec_dir() / exercise.library
    return module, module.with_suffix(".cfg"), (library / "models", library)


def grade_guard(name: str, exercise: WriteGuard, path: Path) -> Grade:
    """Grade a guard: every property of the cfg must hold, and the witness must still happen.

    Raises GuardError where the file differs from the exercise's outside the hole, or the guard cannot be parsed or
    evaluated; NotUtf8Error and OSError where the file cannot be read.
    """
    given, given_cfg, library = guard_files(name, exercise)
    module, template, cfg = given.name, text_of(given), text_of(given_cfg)
    text = _with_hole_filled(template, path)

    def loaded(module_text: str, changed: Sequence[str] = ()) -> Spec:
        with scratch("guard-") as folder:
            (folder / module).write_text(module_text, encoding="utf-8")
            (folder / "model.cfg").write_text(_changed(cfg, changed), encoding="utf-8")
            return load_spec(folder / module, folder / "model.cfg", search_path=library)

    try:
        spec = loaded(text)
        graded = _graded(spec, exercise, explore(spec, SearchOptions(check_deadlock=False, max_states=MAX_STATES)))
        rule, distinct = _with_rule(template, exercise.rule), 0
        for changed in ((), exercise.other_model) if graded.solved else ():
            intended = explore(loaded(rule, changed), SearchOptions(check_deadlock=False, keep_edges=True))
            assert intended.complete, "the intended rule violates nothing"
            distinct += intended.distinct
            if (found := difference(intended, loaded(text, changed))) is not None:
                return _grade_difference(exercise, found)
        if not graded.solved:
            return graded
        line = f"it allows what the intended rule allows, in {distinct:,} states of two models"
        return Grade(True, (*graded.lines, line))
    except BadInputError as error:  # the template has no error, so it is the guard's
        raise GuardError(str(error).replace(f"{module}:", f"{path}:", 1)) from error


def _changed(cfg: str, lines: Sequence[str]) -> str:
    """Return a cfg with these lines in place of those that begin with the same word."""
    instead = {line.split()[0]: line for line in lines}
    given = [line if not line.split() else instead.pop(line.split()[0], line) for line in cfg.splitlines()]
    assert not instead, f"the cfg has no lines for {', '.join(instead)}"
    return "\n".join(given) + "\n"


def _with_rule(template: str, rule: str) -> str:
    """Return the module of an exercise with the intended rule in its hole."""
    lines = template.splitlines()
    begin, end = _hole(lines, Path("the template"))
    return "\n".join([*lines[: begin + 1], f"    {rule}", *lines[end:]]) + "\n"


def _grade_difference(exercise: WriteGuard, found: GuardDifference) -> Grade:
    """Return the grade of a guard that breaks no property, and differs from the intended rule."""
    who = "your guard allows it, and nothing should" if found.is_allowed_by_guard else "your guard forbids it"
    return Grade(
        False,
        (
            "every property holds, but your guard is not the intended rule.",
            f"After {counted(len(found.path), 'step')}",
            *(f"  {number:3d}  {step}" for number, step in enumerate(found.path, start=1)),
            f"the next one is {found.step}: {who}, in the state where",
            *_nodes(found.state.as_dict()["node"], exercise.shows),
            f"    {exercise.hint if found.is_allowed_by_guard else exercise.too_strict}",
        ),
    )


def _nodes(nodes: Value, shows: Sequence[str]) -> Iterator[str]:
    """Yield a line for each node with some of its fields."""
    for name, node in sorted(nodes.d.items(), key=lambda each: format_value(each[0])):
        yield f"    {format_value(name)}: {', '.join(f'{field} = {format_value(node.d[field])}' for field in shows)}"


def _graded(spec: Spec, exercise: WriteGuard, found: Exploration) -> Grade:
    if found.violation is not None:
        states = f"{found.violation.name} is violated, {len(found.violation.trace) - 1} steps from the beginning:"
        return Grade(False, (states, *_steps(found.violation), f"    {exercise.hint}"))
    if len(found.states) >= MAX_STATES:
        return Grade(False, (f"after {MAX_STATES:,} states there is no end", f"    {exercise.hint}"))
    if not any(spec.evaluate(exercise.witness, state) for state in found.states):
        line = f"every property holds, but in none of the {found.distinct:,} states {exercise.witness} is true:"
        return Grade(False, (f"{line} the guard forbids too much", f"    {exercise.too_strict}"))
    reached = f"every property holds in all {found.distinct:,} states, and {exercise.witness} is true in some"
    return Grade(True, (reached,))


def _steps(violation: Violation) -> Iterator[str]:
    for number, step in enumerate(violation.trace[1:], start=1):
        yield f"  {number:3d}  {step_text(step.action or '', step.args)}"


def _with_hole_filled(template: str, path: Path) -> str:
    """Return the template with the student's text in its hole."""
    ours, theirs = template.splitlines(), text_of(path).splitlines()
    begin, end = _hole(ours, path)
    begins, ends = _hole(theirs, path)
    for number, (line, other) in enumerate(zip(ours[: begin + 1], theirs[: begins + 1], strict=False), start=1):
        if line.rstrip() != other.rstrip():
            raise GuardError(f"{path}:{number}: {_CHANGED}")
    if begins != begin:
        raise GuardError(f"{path}:{begins + 1}: changed: there are lines before the hole that the exercise has not")
    tail, rest = ours[end:], theirs[ends:]
    for number, line in enumerate(tail):
        if number >= len(rest) or line.rstrip() != rest[number].rstrip():
            raise GuardError(f"{path}:{ends + number + 1}: {_CHANGED}")
    guard = theirs[begins + 1 : ends]
    has_let = any("LET" in line.split() for line in guard)
    for number, line in enumerate(guard, start=begins + 2):
        if "----" in line or "====" in line or ("==" in line and not has_let):
            raise GuardError(f"{path}:{number}: a guard is one expression: it defines nothing, and ends no module")
    return "\n".join([*ours[: begin + 1], *guard, *tail]) + "\n"


def _hole(lines: list[str], path: Path) -> tuple[int, int]:
    places = [[number for number, line in enumerate(lines) if line.strip() == mark] for mark in (BEGINS, ENDS)]
    if any(len(each) != 1 for each in places) or places[0][0] >= places[1][0]:
        raise GuardError(f"{path}:1: the lines `{BEGINS}` and `{ENDS}` must stand there, once each")
    return places[0][0], places[1][0]


# ---- The guard beside the intended rule ----


@dataclass(frozen=True, slots=True)
class GuardDifference:
    """A state that the rule reaches, by the steps of `path`, in which only one of the two allows `step`."""

    path: tuple[str, ...]
    state: State
    step: str
    is_allowed_by_guard: bool


def difference(rule: Exploration, guard: Spec) -> GuardDifference | None:
    """Return the first state in which a guard and the rule allow different steps; None where there is none.

    Arguments: `rule`, all that the spec with the rule reaches, with its edges; `guard`, the same spec with the guard.
    """
    after: dict[int, dict[int, str]] = {}
    came_from: dict[int, tuple[int, str]] = {}
    number_of = {state: number for number, state in enumerate(rule.states)}
    for edge in rule.edges:
        if edge.source == edge.target:
            continue
        step = step_text(edge.action, edge.args)
        after.setdefault(edge.source, {}).setdefault(edge.target, step)
        if edge.target > edge.source:
            came_from.setdefault(edge.target, (edge.source, step))
    for number, state in enumerate(rule.states):
        missing = dict(after.get(number, {}))
        for action, args, next_state in guard.successors(state):
            if next_state == state:
                continue
            target = number_of.get(next_state)
            if target is None or target not in after.get(number, {}):
                return GuardDifference(
                    _path(number, came_from), state, step_text(action, args), is_allowed_by_guard=True
                )
            missing.pop(target, None)
        for step in missing.values():
            return GuardDifference(_path(number, came_from), state, step, is_allowed_by_guard=False)
    return None


def step_text(action: str, args: Mapping[str, Value]) -> str:
    """Return an action with its short arguments."""
    texts = {name: format_value(value) for name, value in args.items()}
    return f"{action}({', '.join(f'{name} = {text}' for name, text in texts.items() if len(text) < 40)})"


def _path(number: int, came_from: Mapping[int, tuple[int, str]]) -> tuple[str, ...]:
    steps: list[str] = []
    while number in came_from:
        number, step = came_from[number]
        steps.append(step)
    return tuple(reversed(steps))
