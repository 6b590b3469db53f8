"""The lines that hashicorp/raft logs through hclog, checked against the small spec of the steps that they record."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.logs.mapping import Text
from lockstep.logs.text_formats import line_splitter
from lockstep.models.search_result import SpecFiles
from lockstep.systems.file_check import OwnTraceCheck, own_check
from tests.scripts.hclog_lines import hclog_lines, printed
from tests.support.places import ROOT
from tests.support.programs.lockstep_command import lockstep

OTHERS = ROOT / "docs" / "own_logs" / "others"
RECORDINGS = ROOT / "traces" / "captured" / "hashicorp"

#: The lines of each server: what a lie changes.
Logs: TypeAlias = "dict[str, list[str]]"


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., OwnTraceCheck]:
    """Judges by whether the servers ask for pre-votes, and whether the network makes copies of requests."""
    folder = tmp_path_factory.mktemp("cfg")

    @cache
    def judging(prevote: bool, copies: bool, ends: str = "together", start: str = "") -> OwnTraceCheck:
        cfg, mapping = folder / f"{prevote}-{copies}{start}.cfg", folder / f"{ends}{start}.toml"
        published = changed_cfg(prevote, copies)
        cfg.write_text(published.replace("FirstTerm = 1", "FirstTerm = 4") if start else published)
        text = (OTHERS / "hashicorp.toml").read_text().replace('ends = "together"', f'ends = "{ends}"')
        mapping.write_text(text.replace("# start = ", "start = ") if start else text)
        return own_check(SpecFiles(OTHERS / "HashicorpLines.tla", cfg, mapping=mapping))

    return judging


def changed_cfg(prevote: bool, copies: bool) -> str:
    """The cfg of such servers."""
    published = (OTHERS / "HashicorpLines.cfg").read_text()
    assert published.count("PreVote = TRUE") == published.count("Copies = FALSE") == 1
    changed = published.replace("PreVote = TRUE", f"PreVote = {str(prevote).upper()}")
    return changed.replace("Copies = FALSE", f"Copies = {str(copies).upper()}")


def recording(name: str) -> Path:
    return RECORDINGS / f"raft-1.7.3-{name}.ndjson"


def prevotes(name: str) -> bool:
    """Whether the servers of a recording ask for pre-votes; its header says so."""
    with recording(name).open(encoding="utf-8") as lines:
        asks = json.loads(next(lines))["prevote"]
    assert isinstance(asks, bool)
    return asks


def where(found: TraceVerdict) -> set[tuple[str, int, str, str]]:
    return {(Path(each.source).stem, each.line, each.code, each.name) for each in found.findings}


# ---- The lines of real servers ----


@pytest.mark.parametrize(
    ("name", "copies"),
    [
        ("quiet", False),
        ("loss", False),
        ("divergent", False),
        ("snapshots", False),
        ("transfers", False),
        ("chaos", True),
        ("torn_vote", True),
    ],
)
def test_the_lines_of_real_servers_are_explained(
    name: str, copies: bool, judges: Callable[..., OwnTraceCheck], tmp_path: Path
) -> None:
    found = judges(prevotes(name), copies).check_logs(hclog_lines(recording(name), tmp_path))
    assert (found.verdict, found.findings) == (Verdict.HOLDS, []), found.reason
    assert found.events >= 11
    assert found.ambiguity is not None
    assert found.ambiguity.states < 10


@pytest.mark.parametrize(("name", "server", "line"), [("torn_vote", "n1", 9), ("chaos", "n1", 26)])
def test_a_request_that_has_come_before_is_refuted_where_the_network_makes_no_copies(
    name: str, server: str, line: int, judges: Callable[..., OwnTraceCheck], tmp_path: Path
) -> None:
    """In the recording `chaos` the network made a copy; in `torn_vote` it made none, and half a vote was stored."""
    made = [json.loads(each)["kind"] for each in recording(name).read_text().splitlines()].count("duplicate")
    assert (made > 0) == (name == "chaos")
    files = hclog_lines(recording(name), tmp_path)
    found = judges(prevotes(name), False).check_logs(files)
    assert (found.verdict, where(found)) == (Verdict.VIOLATED, {(server, line, "LS205", "AskedAgain")})
    assert "duplicate requestVote from" in (tmp_path / f"{server}.log").read_text().splitlines()[line - 1]


def test_an_older_snapshot_that_is_installed_takes_an_fsm_back(
    judges: Callable[..., OwnTraceCheck], tmp_path: Path
) -> None:
    found = judges(prevotes("snapshot_loop"), False).check_logs(hclog_lines(recording("snapshot_loop"), tmp_path))
    violated = {("n1", 48, "LS100", "AppliedNeverFalls"), ("n1", 48, "LS100", "SnapshotsNeverFall")}
    assert (found.verdict, where(found)) == (Verdict.VIOLATED, violated)
    before, installed = (tmp_path / "n1.log").read_text().splitlines()[45:48:2]
    assert "last-index=7 " in before
    assert "Installed remote snapshot" in installed


# ---- Lies ----


def the_last(logs: Logs, server: str, text: str) -> int:
    """Where the last line of a server with a text stands, from 1 on."""
    return max(number for number, line in enumerate(logs[server], start=1) if text in line)


def changed(logs: Logs, server: str, text: str, pattern: str, new: str) -> int:
    """Change the last line of a server with a text, and return where it stands."""
    at = the_last(logs, server, text)
    logs[server][at - 1], count = re.subn(pattern, new, logs[server][at - 1])
    assert count == 1
    return at


def added(logs: Logs, server: str, text: str, *messages: str) -> int:
    """Add lines below the last one of a server with a text, and return where the first of them stands."""
    at = the_last(logs, server, text)
    stamp = logs[server][at - 1].split()[0]
    logs[server][at:at] = [f"{stamp} [INFO]  agent.server.raft: {each}" for each in messages]
    return at + 1


def snapshot_of(lines: list[str]) -> int:
    """The index of the last snapshot that a server completed."""
    return int(re.findall(r"complete up to: index=(\d+)$", "\n".join(lines), re.MULTILINE)[-1])


def two_winners(logs: Logs) -> int:
    """n3 has won term 6 when n2 asks for votes in it."""
    return added(logs, "n2", 'Candidate]" term=6', "election won: term=6 tally=2", "entering leader state: leader=n2")


def too_few_votes(logs: Logs) -> int:
    return changed(logs, "n2", "election won: term=8", "tally=2", "tally=1")


def more_votes_than_servers(logs: Logs) -> int:
    return changed(logs, "n2", "election won: term=8", "tally=2", "tally=4")


def a_term_that_falls(logs: Logs) -> int:
    """n2 heard of the leader of term 6."""
    return changed(logs, "n2", 'Candidate]" term=7', "term=7", "term=5")


def a_term_that_nobody_asked_for(logs: Logs) -> int:
    return changed(logs, "n2", 'Candidate]" term=7', "term=7", "term=9")


def a_leader_that_nobody_elected(logs: Logs) -> int:
    return changed(logs, "n3", "leader-address=n2", "leader-address=n2", "leader-address=n1")


def no_pre_vote(logs: Logs) -> int:
    del logs["n1"][the_last(logs, "n1", "pre-vote successful") - 1]
    return the_last(logs, "n1", "election won")


def two_leaderships_of_one_election(logs: Logs) -> int:
    return added(logs, "n1", "entering leader state", "entering leader state: leader=n1")


def a_compaction_past_the_snapshot(logs: Logs) -> int:
    index = snapshot_of(logs["n3"])
    return changed(logs, "n3", "compacting logs", r"to=\d+", f"to={index + 1}")


def a_snapshot_that_goes_back(logs: Logs) -> int:
    changed(logs, "n3", "compacting logs", r"from=\d+ to=\d+", "from=1 to=1")
    changed(logs, "n3", "starting snapshot up to", r"index=\d+", "index=2")
    return changed(logs, "n3", "snapshot complete up to", r"index=\d+", "index=2")


def another_snapshot_than_was_begun(logs: Logs) -> int:
    return changed(logs, "n3", "snapshot complete up to", r"index=\d+", "index=99")


def applied_entries_that_are_cleared(logs: Logs) -> int:
    index = snapshot_of(logs["n3"])
    return added(logs, "n3", "snapshot complete up to", f"clearing log suffix: from={index} to={index + 9}")


LIES = [
    ("divergent", two_winners, "n2", "OneLeaderPerTerm"),
    ("divergent", too_few_votes, "n2", "WonByQuorum"),
    ("divergent", more_votes_than_servers, "n2", "Win"),
    ("divergent", a_term_that_falls, "n2", "EnterCandidate"),
    ("divergent", a_term_that_nobody_asked_for, "n2", "EnterCandidate"),
    ("divergent", a_leader_that_nobody_elected, "n3", "EnterFollower"),
    ("quiet", no_pre_vote, "n1", "Win"),
    ("quiet", two_leaderships_of_one_election, "n1", "EnterLeader"),
    ("snapshots", a_compaction_past_the_snapshot, "n3", "CompactedIsInSnapshot"),
    ("snapshots", a_snapshot_that_goes_back, "n3", "SnapshotsNeverFall"),
    ("snapshots", another_snapshot_than_was_begun, "n3", "CompleteSnapshot"),
    ("snapshots", applied_entries_that_are_cleared, "n3", "NothingAppliedIsCleared"),
]


@pytest.mark.parametrize(("name", "lie", "server", "violated"), LIES, ids=[each[1].__name__ for each in LIES])
def test_a_lie_is_refuted_at_its_line(
    name: str,
    lie: Callable[[Logs], int],
    server: str,
    violated: str,
    judges: Callable[..., OwnTraceCheck],
    tmp_path: Path,
) -> None:
    files = hclog_lines(recording(name), tmp_path)
    logs = {file.stem: file.read_text().splitlines() for file in files}
    line = lie(logs)
    for file in files:
        file.write_text("\n".join([*logs[file.stem], ""]))
    found = judges(prevotes(name), False).check_logs(files)
    assert found.verdict is Verdict.VIOLATED
    assert {(at, number, what) for at, number, _, what in where(found)} == {(server, line, violated)}


# ---- Where logs end, and unknown lines ----


def test_a_log_that_is_cut_is_refuted_or_inconclusive_and_never_passes(
    judges: Callable[..., OwnTraceCheck], tmp_path: Path
) -> None:
    """Others follow a leader whose election stood in what was cut off."""
    files = hclog_lines(recording("loss"), tmp_path)
    leader = tmp_path / "n2.log"
    lines = leader.read_text().splitlines(keepends=True)
    won = next(number for number, line in enumerate(lines) if "election won" in line)
    leader.write_text("".join(lines[:won]))
    found = judges(True, False).check_logs(files)
    assert found.verdict is Verdict.VIOLATED
    assert any("n2.log" in note and "before that; if logs may end earlier" in note for note in found.notes)
    assert judges(True, False, "anywhere").check_logs(files).verdict is Verdict.INCONCLUSIVE
    leader.write_text("".join(lines[:won]) + lines[won][:60])  # and its last line is torn
    assert judges(True, False).check_logs(files).verdict is not Verdict.HOLDS
    assert judges(True, False, "anywhere").check_logs(files).verdict is not Verdict.HOLDS


def test_logs_that_begin_later_than_the_servers_are_explained_from_the_middle(
    judges: Callable[..., OwnTraceCheck], tmp_path: Path
) -> None:
    """The rest of the logs begins while n2 leads term 4, before it loses its lease."""
    files = hclog_lines(recording("divergent"), tmp_path)
    for file in files:
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(line for line in lines if line.split()[0] > "2026-01-02T03:04:06.200Z"))
    found = judges(False, False).check_logs(files)
    assert (found.verdict, {each.code for each in found.findings}) == (Verdict.VIOLATED, {"LS205"})
    assert any("name with `start`" in note for note in found.notes)
    assert judges(False, False, start="Middle").check_logs(files).verdict is Verdict.HOLDS
    text, count = re.subn("last-leader-addr=n2", "last-leader-addr=n3", files[0].read_text(), count=1)
    files[0].write_text(text)  # and n3 says that it was n2
    assert count == 1
    assert judges(False, False, start="Middle").check_logs(files).verdict is Verdict.VIOLATED


#: The lines that Go writes at a panic: runtime/panic.go, printpanics; runtime/traceback.go, goroutineheader.
PANIC = """\
panic: log not found
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x4a5b2f]

goroutine 1 [running]:
main.main()
\t/src/main.go:5 +0x1d
goroutine 18 [chan receive, 5 minutes]:
github.com/hashicorp/raft.(*Raft).run(0xc0001a2000)
\t/go/pkg/mod/github.com/hashicorp/raft@v1.7.3/raft.go:151 +0x3c
created by github.com/hashicorp/raft.NewRaft in goroutine 1
\t/go/pkg/mod/github.com/hashicorp/raft@v1.7.3/api.go:608 +0x19c5
exit status 2
"""
#: The lines that an agent prints before its first line of log.
BANNER = "==> Starting agent...\n           Version: '1.20.0'\n\n==> Log data will now stream in:\n\n"
HEAD = "2026-01-02T03:04:06.184Z [INFO]  agent.server.raft: "


def with_lines(folder: Path, at: int, text: str) -> list[Path]:
    """Write the logs of the recording `quiet`, and a text behind some lines of the first."""
    files = hclog_lines(recording("quiet"), folder)
    lines = files[0].read_text().splitlines(keepends=True)
    assert len(lines) > 4
    files[0].write_text("".join([*lines[:at], text, *lines[at:]]))
    return files


@pytest.mark.parametrize("at", [0, 3, 99])
@pytest.mark.parametrize(("text", "first"), [("started\n", "started"), (BANNER, "==> Sta"), (PANIC, "panic: log not")])
def test_lines_of_other_programs_in_a_server_s_log_are_noise(
    text: str, first: str, at: int, judges: Callable[..., OwnTraceCheck], tmp_path: Path
) -> None:
    files = with_lines(tmp_path, at, text)
    found = judges(True, False).check_logs(files)
    line = files[0].read_text().splitlines().index(text.splitlines()[0]) + 1
    assert (found.verdict, found.findings, found.events) == (Verdict.HOLDS, [], 11), found.reason
    (note,) = (each for each in found.notes if "noise" in each)
    assert f"n1.log:{line}: '{first}" in note
    # Lines that are empty or begin with white space belong to the line of the log above them.
    unindented = sum(not re.match(r"\s|$", each) for each in text.splitlines())
    not_empty = sum(bool(each) for each in text.splitlines())
    number = unindented if at else not_empty
    assert f"{number} line{' was' if number == 1 else 's were'} skipped as noise, not in the log's form" in note


@pytest.mark.parametrize("at", [0, 3, 99])
@pytest.mark.parametrize(
    "damaged",
    [
        f"{HEAD[:30]}\n",
        f"{HEAD[:24]}\n",
        "[INFO]  agent.server.raft: election won: term=4 tally=2\n",
        "raft: entering leader state: leader=n1\n",
        f"panic: {HEAD}election won: term=4 tally=2\n",
    ],
)
def test_a_torn_line_of_hclog_is_refused(
    damaged: str, at: int, judges: Callable[..., OwnTraceCheck], tmp_path: Path
) -> None:
    files = with_lines(tmp_path, at, damaged)
    line = files[0].read_text().splitlines().index(damaged.strip()) + 1
    found = judges(True, False).check_logs(files)
    assert (found.verdict, found.events) == (Verdict.MALFORMED, 0)
    assert f"n1.log:{line}: the line is not of the form of the log, and looks like" in (found.reason or "")


@pytest.mark.parametrize("cut", ["election won: term=4 tal", "entering leader state: leader=n", "entering candi"])
def test_a_line_that_a_kill_cut_and_the_next_life_of_a_server_went_on_with_is_refused(
    cut: str, judges: Callable[..., OwnTraceCheck], tmp_path: Path
) -> None:
    files = with_lines(tmp_path, 0, f"{HEAD}{cut}")
    found = judges(True, False).check_logs(files)
    assert found.verdict is Verdict.MALFORMED
    column = len(HEAD + cut) + 1
    assert f"n1.log:1: two lines in one: another line of the log begins at column {column}, " in (found.reason or "")


def test_a_time_and_a_quoted_line_in_a_line_of_hclog_make_it_no_two_lines(
    judges: Callable[..., OwnTraceCheck], tmp_path: Path
) -> None:
    quoted = f'{HEAD}failed to contact: server-id=n2 time=2026-01-02T03:04:06.184Z error="{HEAD}election won: term=4"\n'
    found = judges(True, False).check_logs(with_lines(tmp_path, 3, quoted))
    assert (found.verdict, found.events) == (Verdict.HOLDS, 11), found.reason


def test_a_message_that_the_mapping_does_not_know_is_malformed(
    judges: Callable[..., OwnTraceCheck], tmp_path: Path
) -> None:
    files = hclog_lines(recording("quiet"), tmp_path)
    line = files[0].read_text().splitlines()[0].replace("initial configuration", "initial configuratoin")
    files[0].write_text(line + "\n")
    found = judges(True, False).check_logs(files)
    assert found.verdict is Verdict.MALFORMED
    assert "did you mean initial configuration" in (found.reason or "")


def test_a_pair_that_is_named_as_a_part_of_the_head_does_not_replace_it() -> None:
    """hclog writes the key of "backoff time" as it is."""
    read = line_splitter(Text(format="hclog"))
    found = read("2026-01-02T03:04:05.678Z [ERROR] raft: failed to heartbeat to: peer=n1 backoff time=10ms level=x")
    assert found == {
        "time": "2026-01-02T03:04:05.678Z", "level": "ERROR", "logger": "raft", "message": "failed to heartbeat to",
        "peer": "n1",
    }  # fmt: skip


def test_lines_are_printed_as_hclog_prints_them() -> None:
    """go-hclog, intlogger.go, logPlain: a padded level, a colon before the pairs, quotes where a sign needs them."""
    line = {"t_ms": 123.4, "node": "n1", "level": "warn", "text": "failed to contact"}
    peer = {"Suffrage": 0, "ID": "n2", "Address": "a"}
    args = {"time": 120_736_552, "server-id": "n2", "error": 'no "peer"', "peer": peer}
    assert printed({**line, "args": args}) == (
        "2026-01-02T03:04:05.123Z [WARN]  agent.server.raft: failed to contact:"
        ' peer="{Voter n2 a}" server-id=n2 time=120.736552ms error="no \\"peer\\""\n'
    )
    line |= {"level": "error", "text": "stopped", "args": {}}
    assert printed(line) == "2026-01-02T03:04:05.123Z [ERROR] agent.server.raft: stopped\n"


@pytest.mark.parametrize("name", ["torn_vote", "snapshot_loop"])
def test_the_page_s_commands_print_what_it_shows(name: str, tmp_path: Path) -> None:
    shutil.copytree(OTHERS, tmp_path, dirs_exist_ok=True)
    page = (ROOT / "docs" / "own_logs" / "others.md").read_text()
    (block,) = (each for each in re.findall(r"^```\n(.*?)^```$", page, re.M | re.S) if f"raft-1.7.3-{name}." in each)
    *before, checking = (each[2:] for each in block.splitlines() if each.startswith("$ "))
    for command in before:
        here = command.replace("../../../", f"{ROOT}/").replace("python ", f"{sys.executable} ")
        subprocess.run(here, shell=True, cwd=tmp_path, check=True)
    done = lockstep(*checking.split()[1:], cwd=tmp_path)
    assert done.returncode == 1
    shown = done.stdout.partition("\nreplay:")[0].partition("\n      state ")[0].strip()
    assert block.endswith(f"{shown}\n")
