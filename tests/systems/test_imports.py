"""A check imports neither the clusters of a reference nor the modules of another engine, which are slow to import."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from lockstep.systems.registry import simulators
from lockstep.trace.trace_format import write_trace

#: The names of switches, features and flaws, which headers have, and bounds of options.
NAMES = {
    *("raftref", "raftref.choices", "raftref.limits"),
    *("raftref.dledger", "raftref.dledger.choices", "raftref.hashicorp", "raftref.hashicorp.choices"),
}
#: Modules of other commands, engines and forms.
OTHERS = {"lockstep.conformance.by_tlc", "lockstep.report.junit_xml", "importlib.metadata", "networkx", "z3", "pyspark"}
PROGRAM = """
import sys, lockstep.cli.command_line
sys.argv = ["lockstep", "check", sys.argv[1]]
try:
    lockstep.cli.command_line.main()
finally:
    print(sorted(sys.modules))
"""


@pytest.mark.parametrize("plan", ["ordered", "raft"])
def test_a_check_of_a_trace_imports_no_reference_and_no_other_engine(plan: str, tmp_path: Path) -> None:
    _, simulator = simulators()[plan]
    path = tmp_path / "t.trace.ndjson"
    write_trace(path, *simulator.cluster(plan, 1, 20))
    done = subprocess.run([sys.executable, "-c", PROGRAM, path], capture_output=True, text=True, timeout=60)
    printed, _, imported = done.stdout.rstrip().rpartition("\n")
    assert (done.returncode, ": holds: " in printed) == (0, True), done.stderr
    modules = set(ast.literal_eval(imported))
    assert {name for name in modules if name.partition(".")[0] == "raftref"} == NAMES
    assert OTHERS & modules == set()
