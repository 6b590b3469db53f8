"""docs/replicate.py, the first run in Python, and reference/README.md, the page about the references."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lockstep
from lockstep.base.verdict import Verdict
from lockstep.systems.dledger.plans import REFERENCE
from lockstep.systems.registry import SYSTEMS
from lockstep.tla.loading.load_spec import load_spec
from lockstep.trace.trace_reader import read_trace
from raftref.action import definition_in
from raftref.dledger.choices import REPAIRED
from raftref.dledger.simulation import FaultPlan, Script, simulate, trace_lines
from tests.support.places import ROOT

PROGRAM, PAGE = ROOT / "docs" / "replicate.py", ROOT / "reference" / "README.md"
MAX_LINES = 50


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The output of the program, and the trace that it writes."""
    folder = tmp_path_factory.mktemp("replicate")
    ran = subprocess.run([sys.executable, PROGRAM], cwd=folder, capture_output=True, text=True, check=True, timeout=60)
    return ran.stdout, folder / "replicate.trace.ndjson"


def test_the_program_has_at_most_fifty_lines_and_needs_the_reference_alone() -> None:
    text = PROGRAM.read_text(encoding="utf-8")
    imported = set(re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE))
    assert len(text.splitlines()) <= MAX_LINES
    assert imported == {"pathlib", "raftref"}


def test_the_readme_shows_lines_of_the_run(run: tuple[str, Path]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"\$ python docs/replicate.py\n(.*?)```", readme, re.DOTALL)[0].splitlines()
    steps = [line for line in shown if line != "..."]
    places = [run[0].splitlines().index(line) for line in steps]
    assert len(steps) >= 4
    assert places == sorted(places)


def test_a_follower_comes_back_by_compare_and_truncate_which_cuts_its_entry(run: tuple[str, Path]) -> None:
    steps = [line for line in run[0].splitlines() if not line.startswith("--")]
    of_n3 = [line for line in steps if line.startswith("n3 ")][-6:]
    assert [line.split()[1] for line in of_n3] == [
        "ChangeToFollower(n1)",
        "HandleDoCompare",
        "HandleDoCompare",
        "HandleDoTruncate",
        "HandleDoAppend",
        "HandleDoCommit",
    ]
    logs = [re.findall(r"\[.*\] committed -?\d+", line)[0] for line in of_n3]
    before, after = "[a1, b1] committed -1", "[a1, c2] committed 1"
    assert logs == [before, before, before, "[a1] committed 0", after, after]


def test_every_step_of_its_trace_is_one_of_the_spec_and_every_property_holds(run: tuple[str, Path]) -> None:
    verdict = lockstep.check(run[1])
    assert (verdict.verdict, verdict.steps, verdict.findings) == (Verdict.HOLDS, 57, [])


def test_a_trace_in_which_truncate_kept_the_entry_is_refused(run: tuple[str, Path], tmp_path: Path) -> None:
    lines = [json.loads(line) for line in run[1].read_text(encoding="utf-8").splitlines()]
    (cut,) = [each for each in lines if each.get("action") == "HandleDoTruncate" and each["node"] == "n3"]
    cut["shows"]["log"].append({"term": 1, "value": "b"})
    path = tmp_path / "kept.trace.ndjson"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    deviation = lockstep.check(path).deviation
    assert deviation is not None
    assert (deviation.action, deviation.name) == ("HandleDoTruncate", "log")


# ---- The lines of the spec ----


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_action_is_defined_where_the_compiled_spec_has_it(name: str) -> None:
    system = SYSTEMS[name]
    assert system.constants is not None
    chosen = {constant: choices[0] for constant, choices in system.constants.allowed.items()}
    constants = dict(system.constants.values(["n1"], {**chosen, **system.constants.defaults}))
    spec = load_spec(system.module, system.trace_cfg, constants=constants, footprints=system.footprints)
    own = {each: action.loc for each, action in spec.actions.items() if action.loc.module != "Channels"}
    assert len(own) > 40
    assert {each: definition_in(system.module.parent, each) for each in own} == {
        each: f"{loc.module}.tla:{loc.line}" for each, loc in own.items()
    }


def test_an_action_that_the_spec_lacks_has_no_line() -> None:
    with pytest.raises(LookupError, match=r"no module in .*dledger defines DoComparison"):
        definition_in(ROOT / "spec" / "dledger", "DoComparison")


# ---- The trace ----


def test_the_lines_of_a_trace_have_the_header_that_the_checker_writes(tmp_path: Path) -> None:
    plan = FaultPlan(events=20)
    path = tmp_path / "t.trace.ndjson"
    path.write_text("".join(trace_lines(plan, simulate(1, plan), scenario="seed 1")), encoding="utf-8")
    trace = read_trace(path)
    written = REFERENCE.header("ordered", plan, 1)
    for field in ("format", "system", "version", "spec", "nodes", "constants"):
        assert getattr(trace.header, field) == getattr(written, field)
    assert (trace.header.scenario, len(list(trace))) == ("seed 1", 20)


def test_a_peer_that_is_brought_in_line_holds_the_log_of_its_leader() -> None:
    play = Script(REPAIRED)
    play.elect("n1", 1, ["n2"])
    play.bring_in_line("n1", "n2")
    assert play.events[-1]["action"] == "ChangeToFollower"  # an empty log: nothing to push
    for value in "abc":
        play.take("n1", "AppendAsLeader", value)
    play.bring_in_line("n1", "n2")
    logs = [play.cluster.servers[node].ledger_store.log for node in ("n1", "n2")]
    assert logs[0] == logs[1]
    assert len(logs[0]) == 3


# ---- The page ----


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_page_quotes_the_end_of_the_output_and_the_verdict(run: tuple[str, Path]) -> None:
    quoted, verdict = blocks("text")[:2]
    assert run[0].endswith(quoted)
    assert len(quoted.splitlines()) > 10
    checked = subprocess.run(
        [sys.executable, "-m", "lockstep", "check", run[1].name],
        cwd=run[1].parent,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert f"$ lockstep check {run[1].name}\n{checked.stdout.splitlines()[0]}\n" == verdict


def test_the_page_shows_what_its_examples_print() -> None:
    programs, shown = blocks("python"), blocks("text")[2:]
    assert len(programs) == 3
    names: dict[str, Any] = {}
    for program, output in zip(programs, shown, strict=True):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(program, names)
        assert printed.getvalue() == output
