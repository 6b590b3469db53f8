"""The fields of a recording whose change is noticed: each field of each kind of line, changed in one line at a time.

`python -m tests.scripts.recorded_fields` prints a section of docs/measured/tampering.md; it takes some minutes.
"""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from lockstep.systems.dledger.recording_import import import_lines
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import trace_lines
from lockstep.trace.trace_reader import Trace
from tests.support.systems.dledger import check_dledger
from tests.support.systems.dledger_lines import CAPTURED, Json, encoded, lines_of

FILES = ("dledger-0.2.7-restarts", "dledger-0.2.7-batch_push", "dledger-0.3.1.2-leader_partition")
#: In how many lines a field is changed at most, one after the other, in one recording.
TRIED = 3
#: What every line has, or what only names it.
OF_EVERY_LINE = {"kind", "seq", "t_ms", "inc", "op", "type"}
_OTHER = {"LEADER": "FOLLOWER", "FOLLOWER": "CANDIDATE", "CANDIDATE": "LEADER", "n0": "n1", "n1": "n2", "n2": "n0"}

#: A kind of line with its op or type, and a field of it.
Place = tuple[str, str]
Path = tuple[str | int, ...]


def label(line: Json) -> str:
    return ".".join(filter(None, (line["kind"], line.get("op") or line.get("type"))))


def leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    """The paths to what is no object and no list; of a list only the first element is taken."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, (*path, key))
    elif isinstance(value, list):
        for index, part in enumerate(value[:1]):
            yield from leaves(part, (*path, index))
    else:
        yield path


def named(path: Path) -> str:
    steps = ("[]" if isinstance(step, int) else "NODE" if step in _OTHER else step for step in path)
    return ".".join(steps)


def other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return "n1" if value is None else _OTHER.get(value, f"{value}x")


def changed(lines: Sequence[Json], number: int, path: Path) -> list[Json]:
    copied = [*lines]
    part: Any = copy.deepcopy(lines[number])
    copied[number] = part
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = other(part[path[-1]])
    return copied


def found(lines: Sequence[Json]) -> tuple[object, ...]:
    """The verdict on a recording, with what is violated; or that it is malformed."""
    try:
        imported = import_lines(encoded(lines), "r")
        trace = Trace(trace_lines(imported.header, imported), "r")
        verdict = check_dledger(trace, trace_spec(trace.header, "r"))
    except TraceError:
        return ("malformed",)
    return (verdict.verdict, {name: each.line for name, each in verdict.violations.items()}, verdict.deviation)


def places(lines: Sequence[Json], noise: set[str]) -> dict[Place, list[tuple[int, Path]]]:
    """Return the places of each field, in lines that record a step or something within one."""
    every: dict[Place, list[tuple[int, Path]]] = {}
    for number, line in enumerate(lines):
        for path in leaves(line) if label(line) not in noise else ():
            if path[0] not in OF_EVERY_LINE:
                every.setdefault((label(line), named(path)), []).append((number, path))
    return every


def survey(file: str, tried: int = TRIED) -> Iterator[tuple[Place, bool]]:
    """Yield each field of a recording, and whether a change of it is noticed in one line at least."""
    lines = lines_of(CAPTURED / f"{file}.ndjson")
    uses = import_lines(encoded(lines), "r").summary.uses
    right, rng = found(lines), random.Random(1)
    for place, where in places(lines, {name for name, use in uses.items() if set(use) == {"noise"}}).items():
        chosen = rng.sample(where, min(tried, len(where)))
        yield place, any(found(changed(lines, *at)) != right for at in chosen)


def section() -> str:
    noticed: dict[Place, bool] = {}
    for file in FILES:
        for place, is_noticed in survey(file):
            noticed[place] = noticed.get(place, False) or is_noticed
    rows: dict[str, list[str]] = {}
    for (kind, field), is_noticed in sorted(noticed.items()):
        rows.setdefault(kind, []).extend([] if is_noticed else [f"`{field}`"])
    lines = [f"| `{kind}` | {', '.join(missed) or '-'} |" for kind, missed in rows.items()]
    return (
        f"{sum(noticed.values())} of {len(noticed)} fields are noticed.\n\n"
        "| line | not noticed |\n| --- | --- |\n" + "\n".join(lines) + "\n"
    )


if __name__ == "__main__":
    sys.stdout.write(section())
