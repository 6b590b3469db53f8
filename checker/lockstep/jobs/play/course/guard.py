"""Grading a guard: the module with the student's text in its hole is explored, state by state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from lockstep.base.characters import counted
from lockstep.base.errors import BadInputError
from lockstep.base.paths import course_dir, spec_dir
from lockstep.base.scratch import scratch
from lockstep.base.text_files import text_of
from lockstep.jobs.play.course.exercise import WriteGuard
from lockstep.jobs.play.course.graded import Graded
from lockstep.jobs.play.course.rule import Difference, difference, printed
from lockstep.tla.exploration import Exploration, Violation
from lockstep.tla.explore import explore
from lockstep.tla.loading.load import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import Value, format_value

#: The lines between which the guard stands.
BEGINS, ENDS = r"\* -- your guard begins", r"\* -- your guard ends"

_CHANGED = "changed: only what stands between the two lines may be another"

#: No exercise needs as many states; a guard that lets more happen than none at all is no guard.
MOST_STATES = 100_000


class GuardError(BadInputError):
    """A module that is not the exercise's with another guard; the message names file and line."""


def grade_guard(name: str, exercise: WriteGuard, path: Path) -> Graded:
    """Grade a guard: every property of the cfg must hold, and what shall happen must still happen.

    Raises GuardError where the file differs from the exercise's outside the hole, or the guard cannot be parsed or
    evaluated; NotUtf8Error and OSError where the file cannot be read.
    """
    given, module = course_dir() / name, f"{exercise.module}.tla"
    template, cfg = text_of(given / module), text_of(given / f"{exercise.module}.cfg")
    text = _with_hole_filled(template, path)
    library = [spec_dir() / exercise.library / "models", spec_dir() / exercise.library]

    def loaded(module_text: str, changed: Sequence[str] = ()) -> Spec:
        with scratch("guard-") as folder:
            (folder / module).write_text(module_text, encoding="utf-8")
            (folder / "model.cfg").write_text(_changed(cfg, changed), encoding="utf-8")
            return load_spec(folder / module, folder / "model.cfg", search_path=library)

    try:
        spec = loaded(text)
        graded = _graded(spec, exercise, explore(spec, SearchOptions(check_deadlock=False, max_states=MOST_STATES)))
        rule, distinct = _with_rule(template, exercise.rule), 0
        for changed in ((), exercise.other_model) if graded.solved else ():
            meant = explore(loaded(rule, changed), SearchOptions(check_deadlock=False, keep_edges=True))
            assert meant.complete, "the rule that is meant violates nothing"
            distinct += meant.distinct
            if (found := difference(meant, loaded(text, changed))) is not None:
                return _told_apart(exercise, found)
        if not graded.solved:
            return graded
        said = f"it allows what the rule that is meant allows, in {distinct:,} states of two models"
        return Graded(True, (*graded.lines, said))
    except BadInputError as error:  # the template has none, so it is the guard's
        raise GuardError(str(error).replace(f"{module}:", f"{path}:", 1)) from error


def _changed(cfg: str, lines: Sequence[str]) -> str:
    """Return a cfg with these lines in place of those that begin with the same word."""
    instead = {line.split()[0]: line for line in lines}
    given = [line if not line.split() else instead.pop(line.split()[0], line) for line in cfg.splitlines()]
    assert not instead, f"the cfg has no lines for {', '.join(instead)}"
    return "\n".join(given) + "\n"


def _with_rule(template: str, rule: str) -> str:
    """Return the module of an exercise with the rule that is meant in its hole."""
    lines = template.splitlines()
    begin, end = _hole(lines, Path("the template"))
    return "\n".join([*lines[: begin + 1], f"    {rule}", *lines[end:]]) + "\n"


def _told_apart(exercise: WriteGuard, found: Difference) -> Graded:
    """Return the grade of a guard that breaks no property, and is another rule than the one that is meant."""
    who = "your guard allows it, and nothing should" if found.is_allowed_by_guard else "your guard forbids it"
    return Graded(
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


def _graded(spec: Spec, exercise: WriteGuard, found: Exploration) -> Graded:
    if found.violation is not None:
        states = f"{found.violation.name} is violated, {len(found.violation.trace) - 1} steps from the beginning:"
        return Graded(False, (states, *_steps(found.violation), f"    {exercise.hint}"))
    if len(found.states) >= MOST_STATES:
        return Graded(False, (f"after {MOST_STATES:,} states there is no end", f"    {exercise.hint}"))
    if not any(spec.evaluate(exercise.witness, state) for state in found.states):
        said = f"every property holds, but in none of the {found.distinct:,} states {exercise.witness} is true:"
        return Graded(False, (f"{said} the guard forbids too much", f"    {exercise.too_strict}"))
    reached = f"every property holds in all {found.distinct:,} states, and {exercise.witness} is true in some"
    return Graded(True, (reached,))


def _steps(violation: Violation) -> Iterator[str]:
    for number, step in enumerate(violation.trace[1:], start=1):
        yield f"  {number:3d}  {printed(step.action or '', step.args)}"


def _with_hole_filled(template: str, path: Path) -> str:
    """Return the student's module, which is the template but for what stands in the hole."""
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
