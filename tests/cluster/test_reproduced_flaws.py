"""Each flaw on the released code: the script shows the loss, and the recording what the spec says of it."""

from __future__ import annotations

from pathlib import Path
from subprocess import TimeoutExpired

import pytest

from lockstep.base.package_data import traces_dir
from lockstep.base.verdict import Verdict
from lockstep.jobs.recordings_manifest import load_recordings
from tests.scripts.reproduce.__main__ import main
from tests.scripts.reproduce.dledger_group import DLedgerGroup
from tests.scripts.reproduce.raft_group import RaftGroup
from tests.scripts.reproduce.registry import REPRODUCTIONS
from tests.scripts.reproduce.reproduction import InconclusiveError, Reproduction, Story
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


def test_a_recording_that_is_missing_is_no_evidence() -> None:
    found = Run(REPRODUCTIONS["TornVote"], "1.8.0", (), "nothing", 1.0, None, None, None)
    assert [*found.problems()] == ["there is no recording"]
    unrecorded = Run(REPRODUCTIONS["HeartbeatRace"], "1.8.0", (), "nothing", 1.0, None, None, None)
    assert [*unrecorded.problems()] == []


def test_a_check_that_came_to_no_verdict_is_no_evidence() -> None:
    """The recording shows the flaw, and the check of it with the flaw repaired died behind the step that is refused."""
    wanted = REPRODUCTIONS["StaleInstall"]
    recording = traces_dir() / "captured" / "hashicorp" / "raft-1.8.0-stale_install.ndjson"
    found = Run(wanted, "1.8.0", (), "", 1.0, recording, *verdicts(wanted, recording))
    assert [*found.problems()] == []
    assert found.repaired is not None
    found.repaired.verdict = Verdict.INCONCLUSIVE
    (problem,) = found.problems()
    assert problem.startswith("with StaleInstall repaired the spec does not refuse InstallSnapshot")


class SilentGroup:
    """A group that takes part in a script, and has nothing."""

    def __init__(self, folder: Path, _version: str) -> None:
        self.story, self.folder = Story(), folder

    def __enter__(self) -> SilentGroup:
        return self

    def __exit__(self, *_: object) -> None:
        """End nothing."""

    def recording(self) -> None:
        """Nothing was recorded."""


def lost(_: SilentGroup) -> str:
    return "y is gone"


def kept(_: SilentGroup) -> str:
    raise AssertionError("y is still there")


def broken(_: SilentGroup) -> str:
    raise TimeoutExpired("server", 40)


def test_a_tool_that_dies_is_no_answer_about_the_flaw_and_the_other_runs_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plays = {"Dies": broken, "Shows": lost, "Keeps": kept}
    scripts = {name: Reproduction(name, ("1",), SilentGroup, play, None, None) for name, play in plays.items()}
    monkeypatch.setattr("tests.scripts.reproduce.__main__.REPRODUCTIONS", scripts)
    codes = {}
    for words in (["Dies", "Shows"], ["Shows"], ["Keeps", "Dies"]):
        monkeypatch.setattr("sys.argv", ["reproduce", *words, "--out", str(tmp_path / words[0])])
        codes[tuple(words)] = main()
    assert codes == {("Dies", "Shows"): 3, ("Shows",): 0, ("Keeps", "Dies"): 1}
    said = capsys.readouterr().out
    assert "Dies on 1: inconclusive: TimeoutExpired: " in said
    assert "Keeps on 1: not seen: y is still there" in said
    assert "TimeoutExpired" in (tmp_path / "Dies" / "Dies-1" / "error.txt").read_text(encoding="utf-8")


def test_a_server_that_does_not_answer_a_read_has_not_lost_what_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.support.systems.mixed_raft.go_programs", lambda _: tmp_path)
    with RaftGroup(tmp_path, "1.8.0") as group, pytest.raises(InconclusiveError, match="no connection"):
        group.read_at("n1", 3)
    monkeypatch.setattr("tests.scripts.reproduce.dledger_group.NO_MAVEN", None)
    monkeypatch.setattr("tests.support.systems.mixed_dledger.java_words", lambda *_: ["java"])
    with DLedgerGroup(tmp_path, "0.3.2") as nodes, pytest.raises(InconclusiveError, match="NETWORK_ERROR"):
        nodes.get_from("n1", 3)


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


def test_the_main_job_checks_a_recording_of_each_flaw_as_published_and_repaired() -> None:
    quick = {name for name, each in PINNED.items() if each.tier == "quick"}
    deep = PINNED.keys() - quick
    for flaw, reproduction in REPRODUCTIONS.items():
        if reproduction.refused is not None:
            names = {f"{flaw}, {version}" for version in reproduction.versions}
            assert any({name, f"{name}, repaired"} <= quick for name in names), flaw
            assert all((name in deep) == (f"{name}, repaired" in deep) for name in names)
    assert deep


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
