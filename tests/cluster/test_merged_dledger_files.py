"""One recording of the files that nodes of a DLedger group wrote: which files are refused, and how."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from raftref.runtime.node import StepFile
from tests.support.systems.running_dledger import DLedgerGroup
from tests.support.systems.running_groups import NODES

SCRIPT = Path(__file__).parents[2] / "traces/recorders/dledger"


@pytest.fixture
def merge(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(SCRIPT))
    import merge

    yield merge
    sys.modules.pop("merge", None)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """The steps of a group of nodes of the reference that elects a leader."""
    run = DLedgerGroup(1)
    run.elect()
    paths = {node: tmp_path / f"{node}.steps.ndjson" for node in NODES}
    for step in run.group.steps:
        file = StepFile(paths[step.node])
        file.write(step)
        file.close()
    return list(paths.values())


def merging(merge: Any, files: list[Path], monkeypatch: pytest.MonkeyPatch) -> tuple[int, Path]:
    """Run the script; return its exit code and the recording."""
    out = files[0].parent / "recording.ndjson"
    words = [str(out), "--version", "0.2.7", "--nodes", ",".join(NODES), *map(str, files)]
    monkeypatch.setattr(sys, "argv", ["merge.py", *words])
    return merge.main(), out


def test_a_line_that_a_dying_process_has_not_finished_is_no_line(
    merge: Any, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(merge.VERSIONS, "0.2.7", (frozenset(), frozenset()))  # the nodes are repaired
    assert merging(merge, files, monkeypatch)[0] == 0
    before = files[0].parent.joinpath("recording.ndjson").read_text()
    assert json.loads(before.splitlines()[-1])["counts"]["start"] == 3
    with files[1].open("a") as file:
        file.write('{"at":')
    code, out = merging(merge, files, monkeypatch)
    assert (code, out.read_text()) == (0, before)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "n2.steps.ndjson:1: the file has no whole line"),
        ('{"at":', "n2.steps.ndjson:1: the file has no whole line"),
        ('{"at":{"at": 1.0}\n', "n2.steps.ndjson:1: no JSON: "),
        ("[]\n", "n2.steps.ndjson:1: no object of JSON"),
        ('{"kind": "start"}\n', "n2.steps.ndjson:1: a line without `node`"),
        ('{"action": "Start"}\n', "n2.steps.ndjson:1: a step without `node`"),
        ('{"action": "Start", "node": "n2"}\n', "n2.steps.ndjson:1: Start: 'at'"),
    ],
)
def test_a_file_without_a_line_or_with_a_torn_one_is_refused_by_its_name_and_line(
    merge: Any,
    files: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    said: str,
) -> None:
    monkeypatch.setitem(merge.VERSIONS, "0.2.7", (frozenset(), frozenset()))
    files[1].write_text(text)
    code, out = merging(merge, files, monkeypatch)
    error = capsys.readouterr().err
    assert code == 2
    assert error.startswith("merge: ")
    assert said in error
    assert not out.exists()
