"""Mistakes in specs, and what right logs and files of states are found to deviate by.

`python -m tests.scripts.diagnosis.plant_in_specs FORM COUNT SEED` writes a line of CSV for each. FORM is states (all
variables, no actions) or log (some steps have no line, and lines lack arguments and most variables).
"""

from __future__ import annotations

import csv
import json
import random
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeAlias

from lockstep.base.errors import BadInputError
from lockstep.base.verdict import Verdict
from lockstep.conformance.diagnosis import DeviationCause, Diagnosis
from lockstep.conformance.json_values import to_tree
from lockstep.logs.log_deviation import UnexplainedLine
from lockstep.models.search_result import SpecFiles
from lockstep.systems import trace_diagnosis
from lockstep.systems.file_check import OwnTraceCheck, own_check
from lockstep.systems.mapped_spec import MappedSpec, load_mapped_spec
from lockstep.systems.own_traces import load_own_spec
from lockstep.tla.state import State
from lockstep.tla.values.itf_values import to_itf
from lockstep.tla.values.kinds import Value
from lockstep.tla.values.probed_values import ProbedExpression
from tests.support.places import TESTS

SPECS = TESTS / "specs" / "systems"
#: The specs that have a cfg of their name, but for Sorting: the samples that are kept were drawn without it.
NAMES = sorted({path.stem for path in SPECS.glob("*.tla") if path.with_suffix(".cfg").exists()} - {"Sorting"})

#: The steps of a walk, the walks that may show a mistake, and the seconds that the check of logs may take.
STEPS, WALKS, SECONDS = 40, 3, 60.0

#: How often a parameter is left out of a line, and an action has no line, if it comes at most so often before one.
LEFT_OUT, HIDDEN, MAX_HIDDEN = 0.3, 0.25, 3

#: A step of a walk: its action, with its arguments, and the state after it.
Step: TypeAlias = tuple[str, dict[str, Value], State]

#: Small mistakes: what is replaced in an expression, and by what.
MISTAKES = (
    (r"<=", "<"),
    (r">=", ">"),
    (r"(?<![<=\\])<(?![<=>])", "<="),
    (r"(?<![>=|-])>(?![>=])", ">="),
    (r" = ", " # "),
    (r" # ", " = "),
    (r"\\in ", r"\\notin "),
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r"\\cup|\\union ", r"\\cap "),
    (r"\b(\d)\b", lambda match: str(int(match[1]) + 1)),
    (r"\\E ", r"\\A "),
)


@dataclass(frozen=True, slots=True)
class PlantedMistake:
    """A row: the mistake in a spec, and what the diagnosis of what the right spec does says.

    `at` is the state or line at which it deviates; `rank` is the place of the first right cause among those that are
    named, 0 where none is; the rest is of the first cause. `seconds` are those of the processor.
    """

    spec: str
    planted: str
    at: int
    rank: int
    cause: str
    place: str
    what: str
    accepts: int
    seconds: float


def planted_mistakes(form: str, count: int, seed: int) -> Iterator[PlantedMistake]:
    """Yield mistakes in specs that what the right spec does deviates by."""
    drawn = random.Random(f"{form}{seed}")
    while count:
        name = drawn.choice(NAMES)
        with tempfile.TemporaryDirectory() as folder:
            found = _planted(name, form, drawn, Path(folder))
        if found is not None:
            count -= 1
            yield found


def _planted(name: str, form: str, drawn: random.Random, folder: Path) -> PlantedMistake | None:
    """Plant a mistake; return its row, or None where no walk shows it."""
    right = load_mapped_spec(SpecFiles(SPECS / f"{name}.tla", SPECS / f"{name}.cfg"))
    mistake = _mistake(right, drawn)
    if mistake is None:
        return None
    text, line, column, what = mistake
    (folder / f"{name}.tla").write_text(text)
    (folder / f"{name}.cfg").write_text((SPECS / f"{name}.cfg").read_text())
    files = SpecFiles(folder / f"{name}.tla", folder / f"{name}.cfg", library=(SPECS,))
    for _ in range(WALKS):
        initial, walk = _walk(right, drawn)
        try:
            found = _FORMS[form](files, right, initial, walk, drawn, folder)
        except BadInputError as error:  # the mistake may break the spec
            print(f"{name}: {what}: {error}", file=sys.stderr)
            return None
        if found is not None:
            at, diagnosis, seconds = found
            assert not any("could not be looked for" in note for note in diagnosis.notes), diagnosis.notes
            rank = _rank(files, diagnosis, line, column)
            first = diagnosis.causes[0] if diagnosis.causes else None
            named = ("none", "", "", 0) if first is None else (first.kind, first.place, first.what, first.accepts)
            return PlantedMistake(name, f"{line}:{column} {what}", at, rank, *named, round(seconds, 1))
    return None


def _mistake(right: MappedSpec, drawn: random.Random) -> tuple[str, int, int, str] | None:
    """Return the text of a spec with a mistake in an expression that its steps evaluate, and where and what it is."""
    probed = load_own_spec(right.files, right.system, has_probes=True).probed
    lines = right.files.module.read_text().split("\n")
    own = [each for each in probed if each.loc.module == right.spec.name and each.loc.line == each.loc.end_line]
    expression = drawn.choice([each for each in own if each.kind != "operand"])
    loc, line = expression.loc, lines[expression.loc.line - 1]
    before, inside, after = line[: loc.column - 1], line[loc.column - 1 : loc.end_column], line[loc.end_column :]
    for pattern, replacement in drawn.sample(MISTAKES, len(MISTAKES)):
        match = re.search(pattern, inside)
        if match is not None:
            changed = re.sub(pattern, replacement, inside, count=1)
            lines[loc.line - 1] = f"{before}{changed}{after}"
            return "\n".join(lines), loc.line, loc.column + match.start(), f"{inside} -> {changed}"
    return None


def _walk(right: MappedSpec, drawn: random.Random) -> tuple[State, list[Step]]:
    """Return a behaviour of a spec, with its initial state."""
    state = initial = drawn.choice(list(dict.fromkeys(right.spec.initial_states())))
    walk: list[Step] = []
    for _ in range(STEPS):
        enabled = list(right.spec.successors(state))
        if not enabled:
            break
        by_action = {action: [each for each in enabled if each[0] == action] for action, _, _ in enabled}
        action, args, state = drawn.choice(by_action[drawn.choice(sorted(by_action))])
        walk.append((action, dict(args), state))
    return initial, walk


_Found: TypeAlias = "tuple[int, Diagnosis, float] | None"


def _states(
    files: SpecFiles, right: MappedSpec, initial: State, walk: list[Step], drawn: random.Random, folder: Path
) -> _Found:
    def tree(state: State) -> dict[str, Any]:
        return {name: to_itf(value) for name, value in state.as_dict().items()}

    states = [tree(initial), *(tree(state) for _, _, state in walk)]
    path = folder / "walk.itf.json"
    path.write_text(json.dumps({"vars": list(right.spec.variables), "states": states}))
    assert OwnTraceCheck(right)(path).verdict is Verdict.HOLDS, "the right spec must allow it"
    check = own_check(files)
    verdict = check(path)
    if verdict.deviation is None or verdict.verdict is not Verdict.VIOLATED:
        return None
    begin = time.process_time()
    diagnosis = check.diagnosis(path)
    assert diagnosis is not None
    return verdict.deviation.seq, diagnosis, time.process_time() - begin


def _log(files: SpecFiles, right: MappedSpec, _: State, walk: list[Step], drawn: random.Random, folder: Path) -> _Found:
    mapping, lines = _lines(right, walk, drawn)
    (folder / "mapping.toml").write_text(mapping)
    (folder / "walk.log").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    mapped = [load_mapped_spec(replace(each, mapping=folder / "mapping.toml")) for each in (right.files, files)]
    by_right, check = (OwnTraceCheck(each, timeout_seconds=SECONDS) for each in mapped)
    allowed = by_right.check_logs([folder / "walk.log"])
    assert allowed.verdict is Verdict.HOLDS, f"the right spec must allow it: {allowed.reason}"
    refuted: list[UnexplainedLine] = []
    verdict = check.check_logs([folder / "walk.log"], refuted.append)
    if not refuted or verdict.deviation is None:
        return None
    begin = time.process_time()
    diagnosis = check.diagnosis_of(refuted[0])
    assert diagnosis is not None
    return verdict.deviation.line, diagnosis, time.process_time() - begin


def _lines(right: MappedSpec, walk: list[Step], drawn: random.Random) -> tuple[str, list[dict[str, Any]]]:
    """Return a mapping, and a log of a behaviour that leaves out what the mapping does not have."""
    words, taken = right.interface.words, sorted({action for action, _, _ in walk})
    chosen = [action for action in taken if drawn.random() < HIDDEN][: len(taken) // 2]
    hidden = {action: most for action in chosen if (most := _most(walk, action, chosen)) <= MAX_HIDDEN}
    shown = {action: drawn.choice(right.spec.variables) for action in taken}
    args = {
        action: [name for name in right.spec.actions[action].params if drawn.random() >= LEFT_OUT] for action in taken
    }
    mapping = [
        'kind = "event"',
        *(["[hidden]"] if hidden else []),
        *(f"{name} = {most}" for name, most in hidden.items()),
    ]
    for action in taken:
        if action not in hidden:
            given = ", ".join(f'{name} = "args.{name}"' for name in args[action])
            mapping += [f"[lines.{action}]", f'action = "{action}"', f"args = {{ {given} }}"]
            mapping.append(f'shows = {{ {shown[action]} = "shown" }}')
    lines = [
        {
            "event": action,
            "args": {name: to_tree(given[name], words) for name in args[action]},
            "shown": to_tree(state[shown[action]], words),
        }
        for action, given, state in walk
        if action not in hidden
    ]
    return "\n".join(mapping), lines


def _most(walk: list[Step], action: str, hidden: list[str]) -> int:
    """Return how often an action is taken at most before a line, if some actions have no line."""
    most = count = 0
    for each, _, _ in walk:
        count = count + (each == action) if each in hidden else 0
        most = max(most, count)
    return most


_FORMS: dict[str, Callable[[SpecFiles, MappedSpec, State, list[Step], random.Random, Path], _Found]] = {
    "states": _states,
    "log": _log,
}


def _rank(files: SpecFiles, diagnosis: Diagnosis, line: int, column: int) -> int:
    """Return the place of the first right cause, an expression on one line with the mistake within it; else 0."""
    loaded = load_mapped_spec(files)
    probed = load_own_spec(files, loaded.system, has_probes=True).probed
    for rank, cause in enumerate(diagnosis.causes, 1):
        if any(_has(expression, cause, line, column) for expression in probed):
            return rank
    return 0


def _has(expression: ProbedExpression, cause: DeviationCause, line: int, column: int) -> bool:
    loc = expression.loc
    is_it = str(loc) == cause.place and " ".join(expression.text.split()) == cause.what
    return is_it and loc.line == line == loc.end_line and loc.column <= column <= loc.end_column


def main(form: str, count: str, seed: str) -> None:
    """Write the rows of a sample."""
    warnings.simplefilter("ignore")
    trace_diagnosis.DIAGNOSIS_SECONDS = 600.0  # other work on the machine is to change nothing
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow([field.name for field in fields(PlantedMistake)])
    for row in planted_mistakes(form, int(count), int(seed)):
        rows.writerow(astuple(row))
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
