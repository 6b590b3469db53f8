"""`lockstep check` takes a recording of a known system as the trace that `lockstep import` makes of it."""

from __future__ import annotations

from pathlib import Path

from lockstep.base.package_data import traces_dir
from lockstep.base.verdict import Verdict
from lockstep.systems.file_check import KnownTraceCheck
from lockstep.systems.trace_files import import_trace

RECORDING = traces_dir() / "captured" / "hashicorp" / "raft-1.7.3-quiet.ndjson"


def test_a_recording_is_checked_as_the_trace_that_import_makes_of_it(tmp_path: Path) -> None:
    import_trace(RECORDING, tmp_path / "imported.trace.ndjson")
    check = KnownTraceCheck({}, covers=True)
    found, of_import = check(RECORDING), check(tmp_path / "imported.trace.ndjson")
    assert (found.verdict, found.reason, found.events) == (of_import.verdict, of_import.reason, of_import.events)
    assert found.reached == of_import.reached
    assert found.source == str(RECORDING)
    assert found.notes[0].startswith("note: imported from a recording of hashicorp/raft; the lines are those")
    assert of_import.notes == found.notes[1:]


def test_a_recording_that_cannot_be_imported_is_malformed_with_its_own_line(tmp_path: Path) -> None:
    lines = RECORDING.read_bytes().splitlines(keepends=True)
    path = tmp_path / "broken.ndjson"
    path.write_bytes(b"".join([*lines[:5], b"{}\n", *lines[5:]]))
    found = KnownTraceCheck({})(path)
    assert found.verdict is Verdict.MALFORMED
    assert found.reason.startswith(f"{path}:6: ")
