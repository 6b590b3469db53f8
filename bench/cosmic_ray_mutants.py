"""Mutants of both references by cosmic-ray, and what notices each: draw some, then judge them.

    python -m venv cosmic && cosmic/bin/pip install cosmic-ray
    cosmic/bin/python bench/cosmic_ray_mutants.py draw 400 1 > mutants.ndjson
    python bench/cosmic_ray_mutants.py judge mutants.ndjson results.ndjson [MINUTES]
    python bench/cosmic_ray_mutants.py sums mutants.ndjson results.ndjson

The mutants are drawn from those of cosmic-ray's operators in the modules that the specs have chapters of, which change
what some function does: no type annotations, no constants of a module. What judges one is, in this order: traces of
clusters, clusters checked both ways, the properties that `lockstep hunt` watches, and the reference's own tests.
`judge` begins with the references as they are, which nothing may refuse, and goes on where an earlier run ended.
docs/measured/mutants.md has the sums of a run.
"""

from __future__ import annotations

import inspect
import json
import multiprocessing
import os
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

#: The modules of each reference, as in tests/support/systems: the spec has a chapter of each.
MODULES = {
    "dledger": (
        *("clients", "commit", "election_rules", "follower", "heartbeats", "leader", "message_elections", "pushing"),
        *("quorum", "role_elections", "state", "store", "transfer"),
    ),
    "hashicorp": (
        *("values", "stores", "state", "server", "logs", "elections", "votes", "follower", "leader"),
        *("replication", "snapshots", "membership", "leadership", "failures", "hashicorp_raft"),
    ),
}
#: Operators that need arguments, or mutate what is no function.
LEFT_OUT = {"core/RemoveDecorator", "core/VariableReplacer", "core/VariableInserter"}

#: The processor time of a hunt, and that after which a mutant comes to no end; without one no judge takes a third.
HUNTED_SECONDS, SECONDS = 8.0, 240
#: Each reference has more tests of its own than this.
LEAST_TESTS = 100


# ---- Drawing ----


def essence(code: CodeType) -> tuple[Any, ...]:
    """Return what a function's code does, whatever its lines and columns are."""
    consts = tuple(essence(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts)
    return code.co_qualname, code.co_code, code.co_names, code.co_varnames, code.co_freevars, consts


def functions(source: str, path: str) -> Counter[tuple[Any, ...]]:
    """Return the functions of a module by their essence."""
    found = Counter[tuple[Any, ...]]()
    left = [compile(source, path, "exec")]
    while left:
        for each in left.pop().co_consts:
            if isinstance(each, CodeType):
                left.append(each)
                if each.co_flags & inspect.CO_OPTIMIZED:  # no class: its body holds the annotations
                    found[essence(each)] += 1
    return found


def draw(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield mutants by cosmic-ray that change a function, drawn with a seed; needs cosmic-ray."""
    from cosmic_ray.commands import init
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator
    from cosmic_ray.work_db import WorkDB, use_db

    paths = [
        ROOT / "reference" / "raftref" / system / f"{name}.py" for system, names in MODULES.items() for name in names
    ]
    with tempfile.TemporaryDirectory() as folder, use_db(f"{folder}/work.sqlite", WorkDB.Mode.create) as work:
        init(paths, work, {})
        every = sorted(
            (str(m.module_path), m.operator_name, m.occurrence)
            for item in work.work_items
            for m in item.mutations
            if m.operator_name not in LEFT_OUT
        )
    random.Random(seed).shuffle(every)
    drawn = passed = 0
    for path, operator, occurrence in every:
        source = Path(path).read_text(encoding="utf-8")
        mutated = mutate_code(source, get_operator(operator)(), occurrence)
        place = Path(path).relative_to(ROOT / "reference" / "raftref")
        try:
            changed = mutated is not None and functions(mutated, path) != functions(source, path)
        except SyntaxError:  # such as another operator for the stars of {**a, **b}
            changed = False
        if not changed:
            passed += 1
            continue
        old, new = (text.splitlines() for text in (source, mutated))
        at = next(nth for nth, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1])
        what = f"{place}:{at + 1} {operator.removeprefix('core/')}: `{old[at].strip()}` -> `{new[at].strip()}`"
        yield {"system": place.parts[0], "module": str(place), "mutant": what, "source": mutated}
        drawn += 1
        if drawn == count:
            break
    passed_over = f"{passed} passed over: they change no function, or do not compile"
    print(f"{len(every):,} mutants in all; {drawn} drawn, {passed_over}", file=sys.stderr)


# ---- Judging ----


def judges(system: str) -> dict[str, Callable[[], str]]:
    """Return what judges the reference of a system, the cheapest first; each returns "" or how it notices a mistake."""
    from tests.support.systems import dledger_mutants, hashicorp_mutants

    reference = {"dledger": dledger_mutants.REFERENCE, "hashicorp": hashicorp_mutants.REFERENCE}[system]
    return {
        "a trace": reference.by_traces,
        "both ways": reference.by_asking,
        "properties": lambda: by_properties(system),
        "tests": lambda: by_tests(system),
    }


def by_properties(system: str) -> str:
    """Return the property that a hunt in the repaired system finds violated."""
    from lockstep.hunt.example import Target
    from lockstep.hunt.search import Search
    from lockstep.systems.registry import SYSTEMS

    spec = {"dledger": "DLedger", "hashicorp": "HashicorpRaft"}[system]
    make = SYSTEMS[spec].hunted
    assert make is not None
    hunted = make()
    wanted = Target(hunted, 3, (), frozenset(hunted.properties) - hunted.may_fail_repaired, because=False)
    search = Search(wanted, 1, HUNTED_SECONDS, None, clock=time.process_time, shrink_seconds=0)
    found = search.run()
    return "" if found is None or found.violation is None else found.violation[0]


def by_tests(system: str) -> str:
    """Return the end of what pytest prints where a fast test of the reference fails."""
    import contextlib
    import io

    import pytest

    sys.dont_write_bytecode = False  # pytest keeps the tests as it has rewritten them
    os.chdir(ROOT)
    # Not those that compare a page: a mistake changes what a page quotes, too.
    words = ["-q", "-x", "-n0", "--no-header", "-p", "no:cacheprovider", "-k", "not the_page"]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        status = pytest.main([*words, f"tests/reference/{system}"])
    passed = re.search(r"(\d+) passed", printed.getvalue())
    if status == pytest.ExitCode.OK and (passed is None or int(passed[1]) < LEAST_TESTS):
        raise SystemExit(f"these are no tests of a reference:\n{printed.getvalue()}")
    failed = [line for line in printed.getvalue().splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "" if status == pytest.ExitCode.OK else failed[0] if failed else "a test failed"


def judge(mutant: dict[str, Any]) -> dict[str, Any]:
    """Plant a mutant and return what notices it first, and how; in a process of its own."""
    from contextlib import nullcontext

    from tests.support.systems.mutants import limited, planted_code

    begin, by, how = time.process_time(), "", ""
    path = str(ROOT / "reference" / "raftref" / mutant["module"])
    with planted_code(compile(mutant["source"], path, "exec")) if mutant["source"] else nullcontext():
        for name, ask in judges(mutant["system"]).items():
            try:
                with limited(SECONDS):
                    how = ask()
            except Exception as error:  # whatever a mistake makes of the reference, it is seen
                how = f"{type(error).__name__}: {error}"
            if how:
                by = name
                break
    seconds = round(time.process_time() - begin, 1)
    return {"system": mutant["system"], "mutant": mutant["mutant"], "by": by, "how": how[:300], "seconds": seconds}


def judge_all(mutants: Path, results: Path, minutes: float) -> None:
    """Judge those that have no result yet, the references as they are first, until the time is up."""
    end = time.monotonic() + 60 * minutes
    chosen = [json.loads(line) for line in mutants.read_text(encoding="utf-8").splitlines()]
    done = {each["mutant"] for each in read(results)}
    as_they_are = [{"system": system, "module": "", "mutant": f"{system} as it is", "source": ""} for system in MODULES]
    left = [each for each in (*as_they_are, *chosen) if each["mutant"] not in done]
    judges("dledger")  # imports what every process needs
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool, results.open("a") as file:
        for found in pool.imap(judge, left):
            if found["mutant"].endswith("as it is") and found["by"]:
                raise SystemExit(f"{found['mutant']}: refused by {found['by']}: {found['how']}")
            file.write(json.dumps(found) + "\n")
            file.flush()
            print(f"{found['by'] or 'SURVIVES':10} {found['seconds']:6} s  {found['mutant']}  [{found['how'][:100]}]")
            sys.stdout.flush()
            if time.monotonic() > end:
                break
        pool.terminate()


def read(results: Path) -> list[dict[str, Any]]:
    """Return the results so far."""
    return [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()] if results.is_file() else []


def sums(mutants: Path, results: Path) -> None:
    """Print how many each judge noticed first, and those that survive."""
    drawn = {json.loads(line)["mutant"] for line in mutants.read_text(encoding="utf-8").splitlines()}
    found = [each for each in read(results) if each["mutant"] in drawn]
    for system in MODULES:
        counts = Counter(each["by"] or "nothing" for each in found if each["system"] == system)
        print(f"{system}: {counts.total()} judged: {dict(counts.most_common())}")
    print(f"{len(found)} of {len(drawn)} judged")
    for each in found:
        if not each["by"]:
            print(each["mutant"])


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["draw", count, seed]:
            for one in draw(int(count), int(seed)):
                print(json.dumps(one))
        case ["judge", mutants, results, *minutes]:
            judge_all(Path(mutants), Path(results), float(minutes[0]) if minutes else 600)
        case ["sums", mutants, results]:
            sums(Path(mutants), Path(results))
        case _:
            sys.exit(__doc__)
