"""Each flaw on the released code: the script shows the loss, and the recording what the spec says of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.base.package_data import traces_dir
from lockstep.jobs.recordings_manifest import load_recordings
from tests.scripts.reproduce.registry import REPRODUCTIONS
from tests.scripts.reproduce.reproduction import Reproduction
from tests.scripts.reproduce.runs import Run, run, verdicts

RUNS = [
    pytest.param(each, version, id=f"{each.flaw}-{version}")
    for each in REPRODUCTIONS.values()
    for version in each.versions
]


@pytest.mark.nightly
@pytest.mark.parametrize(("reproduction", "version"), RUNS)
def test_a_script_shows_the_flaw_on_the_released_code(reproduction: Reproduction, version: str, tmp_path: Path) -> None:
    found = run(reproduction, version, tmp_path)
    assert [*found.problems()] == []
    assert found.story


def test_a_recording_without_the_flaw_is_no_evidence_of_it() -> None:
    """A group whose network drops nothing does nothing that the repaired spec refuses."""
    wanted = REPRODUCTIONS["TornVote"]
    recording = traces_dir() / "captured" / "hashicorp" / "raft-1.7.3-quiet.ndjson"
    found = Run(wanted, "1.7.3", (), "nothing", 1.0, recording, *verdicts(wanted, recording))
    missing, accepted = found.problems()
    assert missing.startswith("LeaderCompleteness is not violated")
    assert accepted.startswith("with TornVote repaired the spec does not refuse RequestVote")


RECORDED = [
    pytest.param(each, version, id=f"{each.flaw}-{version}")
    for each in REPRODUCTIONS.values()
    for version in each.versions
    if each.refused is not None
]
PINNED = {each.name: each for each in load_recordings(traces_dir() / "manifest.toml")}


@pytest.mark.parametrize(("reproduction", "version"), RECORDED)
def test_the_manifest_has_a_recording_of_each_flaw_as_published_and_repaired(
    reproduction: Reproduction, version: str
) -> None:
    published = PINNED[f"{reproduction.flaw}, {version}"]
    repaired = PINNED[f"{reproduction.flaw}, {version}, repaired"]
    assert published.leaves is None
    assert reproduction.violates in published.violates or (reproduction.violates, published.verdict) == (None, "holds")
    assert repaired.leaves is not None
    assert (repaired.file, repaired.repaired) == (published.file, (reproduction.flaw,))
    assert repaired.leaves.action == reproduction.refused


@pytest.mark.parametrize(("reproduction", "version"), RECORDED)
def test_the_page_of_a_flaw_quotes_what_the_manifest_pins(reproduction: Reproduction, version: str) -> None:
    published = PINNED[f"{reproduction.flaw}, {version}"]
    leaves = PINNED[f"{reproduction.flaw}, {version}, repaired"].leaves
    (page,) = (traces_dir() / "counterexamples").rglob(f"{reproduction.play.__module__.rpartition('.')[2]}.md")
    (row,) = (
        line for line in page.read_text(encoding="utf-8").splitlines() if f"[{Path(published.file).name}]" in line
    )
    assert leaves is not None
    assert f"line {leaves.line}, `{leaves.action}`" in row
    assert all(f"`{name}` from line {line} on" in row for name, line in published.violates.items())
