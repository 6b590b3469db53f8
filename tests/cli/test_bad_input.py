"""Bad input is refused with file, line and field, exit code 2, and nothing written; no reader ever crashes."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lockstep.base.verdict import Verdict
from lockstep.logs.mapping import MappingError, read_mapping
from lockstep.systems.dledger import DLEDGER
from lockstep.systems.dledger.recording_import import import_lines
from lockstep.systems.trace_specs import spec_hash, trace_spec
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_reader import Trace, read_trace
from raftref.dledger.simulation import FaultPlan, PlanError
from tests.scripts.malformed import (
    CAPTURED,
    CASES,
    EVENT,
    HEADER,
    LOCK_SERVICE,
    TRACE,
    WHOLE,
    Case,
    CommandOutput,
    all_outputs,
    lines,
    page,
    run,
)
from tests.support.places import ROOT
from tests.support.programs.lockstep_command import lockstep
from tests.support.systems.dledger import check_dledger

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def outputs() -> dict[str, CommandOutput]:
    return dict(zip((case.name for case in CASES), all_outputs(), strict=True))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bad_input_is_refused_by_its_exit_code_with_file_and_place(
    case: Case, outputs: dict[str, CommandOutput]
) -> None:
    output = outputs[case.name]
    assert output.exit_code == case.exit_code
    assert "Traceback" not in output.text
    assert "internal error" not in output.text
    named = [*case.files] or [word for word in case.command[1:] if not word.startswith("-")]
    assert any(name in output.text for name in named)


def test_there_are_many_cases_and_each_has_a_name_of_its_own() -> None:
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)


def test_the_docs_quote_what_is_printed(outputs: dict[str, CommandOutput]) -> None:
    """Rewrite them with `python -m tests.scripts.malformed > docs/errors.md`."""
    assert (DOCS / "errors.md").read_text() == page(list(outputs.values()))


WRITING = [case for case in CASES if case.command[0] in ("import", "simulate")]


@pytest.mark.parametrize("case", WRITING, ids=lambda case: case.name)
def test_nothing_is_written_for_what_is_refused(case: Case, tmp_path: Path) -> None:
    run(case, tmp_path)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == set(case.files)


def test_a_trace_that_grows_while_it_is_read_is_malformed(tmp_path: Path) -> None:
    path = tmp_path / "t.ndjson"
    path.write_bytes(WHOLE)
    events = iter(read_trace(path))
    assert next(events)[1].action == "NextTerm"
    # What is buffered was read before; so much more that the reader must come back for it.
    with path.open("ab") as file:
        file.write(lines(EVENT) * 2_000)
    with pytest.raises(TraceError, match=r"t.ndjson:4: there is more after the end line"):
        list(events)


def test_a_trace_that_is_still_being_written_is_truncated(tmp_path: Path) -> None:
    path = tmp_path / "t.ndjson"
    path.write_bytes(lines(*TRACE[:-1]))
    with pytest.raises(TraceError, match=r"t.ndjson:2: the file is truncated: it has no end line"):
        list(read_trace(path))


def test_a_pipe_is_read_as_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    child = os.fork()
    if child == 0:
        pipe.write_bytes(WHOLE)
        os._exit(0)
    try:
        assert check_dledger(read_trace(pipe), trace_spec(Trace(iter([lines(HEADER)]), "h").header, "h")).events == 1
    finally:
        os.waitpid(child, 0)


def test_a_trace_of_another_spec_is_checked_and_a_note_says_so(tmp_path: Path) -> None:
    other = "0" * 64
    (tmp_path / "t.ndjson").write_bytes(lines({**HEADER, "spec_hash": other}, *TRACE[1:]))
    (tmp_path / "same.ndjson").write_bytes(lines({**HEADER, "spec_hash": spec_hash(DLEDGER)}, *TRACE[1:]))
    ran = lockstep("check", "t.ndjson", "same.ndjson", cwd=tmp_path)
    assert ran.returncode == 0
    note = f"t.ndjson:1: LS302 note: written with the spec {other[:12]}, checked against {spec_hash(DLEDGER)[:12]}"
    assert [line for line in ran.stdout.splitlines() if "LS302" in line] == [note]


# ---- The fuzzer ----

TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=6), parts, max_size=3),
    max_leaves=6,
)
TAGS = st.sampled_from(["#set", "#map", "#tup", "#bigint", "kind", "index", "m", "shows"])


def changed(data: st.DataObject, content: bytes) -> bytes:
    """Change some bytes, or a value somewhere in one line."""
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(content) - 1))
        width = data.draw(st.integers(0, 4))
        return content[:at] + data.draw(st.binary(max_size=4)) + content[at + width :]
    rows = content.splitlines(keepends=True)
    row = data.draw(st.integers(0, len(rows) - 1))
    try:
        tree = json.loads(rows[row])
    except ValueError:
        return content[: len(content) // 2]
    rows[row] = json.dumps(replaced(data, tree)).encode() + b"\n"
    return b"".join(rows)


def replaced(data: st.DataObject, tree: object) -> object:
    parts = list(tree) if isinstance(tree, dict) else list(range(len(tree))) if isinstance(tree, list) else []
    if not parts or not data.draw(st.integers(0, 3)):
        return data.draw(TREES | st.dictionaries(TAGS, TREES, max_size=2))
    key = data.draw(st.sampled_from(parts))
    assert isinstance(tree, dict | list)
    tree[key] = replaced(data, tree[key])  # type: ignore[index]  # a key of a dict or an index of a list
    return tree


def rows_of(content: bytes) -> list[bytes]:
    return content.splitlines(keepends=True)


def fuzz_trace(content: bytes) -> None:
    try:
        trace = Trace(iter(rows_of(content)), "fuzzed")
        spec = trace_spec(trace.header, "fuzzed")
    except TraceError:
        return
    assert check_dledger(trace, spec).verdict is not Verdict.INTERNAL


def fuzz_recording(content: bytes) -> None:
    try:
        imported = import_lines(iter(rows_of(content)), "fuzzed")
    except TraceError:
        return
    spec = trace_spec(imported.header, "fuzzed")

    class FuzzedTrace:
        source = "fuzzed"

        def __iter__(self):  # type: ignore[no-untyped-def]  # as the protocol says
            return iter(enumerate(imported, start=2))

    assert check_dledger(FuzzedTrace(), spec).verdict is not Verdict.INTERNAL


def fuzz_toml(content: bytes, folder: Path) -> None:
    path = folder / "fuzzed.toml"
    path.write_bytes(content)
    with contextlib.suppress(PlanError):
        FaultPlan.load(path)
    with contextlib.suppress(MappingError):
        read_mapping(path)


def simulated_lines() -> bytes:
    from lockstep.trace.trace_format import trace_lines
    from tests.support.systems.simulated_traces import simulated

    head, events = simulated()
    return b"".join(trace_lines(head, events[:40]))


def recorded_lines() -> bytes:
    lines = (CAPTURED / "dledger-0.2.7-figure8.ndjson").read_bytes().splitlines(keepends=True)
    return b"".join(lines[:400])


QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck))
PLAN = b'nodes = 3\nloss = 0.1\nflaws = ["VoteFile"]\nfeatures = ["Batches", "PendingMap"]\n'


def fuzz(examples: int, folder: Path) -> None:
    whole, recorded = simulated_lines(), recorded_lines()
    mapping = (LOCK_SERVICE / "mapping.toml").read_bytes()

    @settings(QUIET, max_examples=examples)
    @given(st.data())
    def run_all(data: st.DataObject) -> None:
        fuzz_trace(changed(data, whole))
        fuzz_recording(changed(data, recorded))
        fuzz_toml(changed(data, PLAN), folder)
        fuzz_toml(changed(data, mapping), folder)

    run_all()


def test_no_reader_crashes_on_changed_input(tmp_path: Path) -> None:
    fuzz(30, tmp_path)


@pytest.mark.nightly
def test_no_reader_crashes_on_much_changed_input(tmp_path: Path) -> None:
    fuzz(3_000, tmp_path)


def test_the_fuzzer_changes_the_input() -> None:
    seen: set[bytes] = set()

    @settings(QUIET, max_examples=50)
    @given(st.data())
    def draw(data: st.DataObject) -> None:
        seen.add(changed(data, WHOLE))

    draw()
    assert len(seen) > 25
