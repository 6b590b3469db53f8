"""Logs as operators have them: they begin anywhere, carry prefixes, and count for what their lines establish."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from lockstep.base.package_data import traces_dir
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.logs.line_prefixes import PrefixReader
from lockstep.systems.file_check import KnownTraceCheck
from lockstep.systems.logged_group import LOGGED_GROUP, SeveralWritersError, check_own_logs
from lockstep.systems.logging_system import logging_system
from lockstep.systems.registry import SYSTEMS
from tests.scripts.operator_trials import SUBJECTS, breaks_a_property, of_cluster, survey
from tests.support.logs.operator_files import NAMING, PREFIXES
from tests.support.places import ROOT
from tests.support.programs.lockstep_command import lockstep
from tests.support.sampling import sampled

#: As Vault writes them, from a term in which it has run for long.
VAULT = (
    '[INFO]  storage.raft: entering candidate state: node="Node at v0:8201 [Candidate]" term=41',
    "[DEBUG] storage.raft: vote granted: from=v1 term=41 tally=2",
    "[INFO]  storage.raft: election won: term=41 tally=2",
    '[INFO]  storage.raft: entering leader state: leader="Node at v0:8201 [Leader]"',
    '[INFO]  storage.raft: added peer, starting replication: peer="v1"',
    "[INFO]  storage.raft: starting snapshot up to: index=589608",
    "[INFO]  storage.raft.snapshot: creating new snapshot: path=/vault/raft/snapshots/41-589608-1767323045000.tmp",
    "[INFO]  storage.raft: snapshot complete up to: index=589608",
    "[INFO]  core: post-unseal setup complete",
)
#: As a broker writes them, years after its first start.
BROKER = (
    '[n0][LEADER] term=8 ledgerBegin=500000 ledgerEnd=589608 committed=589608 watermarks={8:{"n0":589608,"n1":589608}}',
    "[Push-n1]Change state from COMPARE to APPEND at 589608",
    '[n0][LEADER] term=8 ledgerBegin=500000 ledgerEnd=589640 committed=589639 watermarks={8:{"n0":589640,"n1":589639}}',
    "[HeartbeatToLog] something that a later version writes",
)


def hclog(*lines: str) -> str:
    return "".join(f"2026-01-02T03:04:{second:02}.000Z {line}\n" for second, line in enumerate(lines))


def logback(*lines: str) -> str:
    return "".join(f"2026-01-02 03:04:{second:02} INFO thread-1 - {line}\n" for second, line in enumerate(lines))


def status(node: str, role: str, term: int, end: int, committed: int) -> str:
    return f"[{node}][{role}] term={term} ledgerBegin=0 ledgerEnd={end} committed={committed} watermarks={{}}"


def leads(node: str, term: int, end: int, committed: int) -> tuple[str, ...]:
    line = status(node, "LEADER", term, end, committed)
    return f"[{node}] [ChangeRoleToLeader] from term: {term} and currTerm: {term}", line


def follows(node: str, leader: str, term: int) -> str:
    return f"[{node}][ChangeRoleToFollower] from term: {term} leaderId: {leader} and currTerm: {term}"


def checked(folder: Path, **logs: str) -> TraceVerdict:
    """Check logs by the names of their files, of the system that wrote the first of them."""
    paths = [folder / f"{name}.log" for name in logs]
    for path, text in zip(paths, logs.values(), strict=True):
        path.write_text(text)
    system = logging_system(paths[0])
    assert system is not None
    assert system.own_logs is not None
    return check_own_logs(paths, system.own_logs())


def notes(found: TraceVerdict) -> str:
    return "\n".join(found.notes)


COMMITTED = status("n1", "FOLLOWER", 3, 9, 9)


# ---- Beginnings ----


@pytest.mark.parametrize("text", [hclog(*VAULT), logback(*BROKER)], ids=["hclog", "logback"])
def test_a_log_that_begins_in_the_middle_holds_and_says_what_it_shows(tmp_path: Path, text: str) -> None:
    found = checked(tmp_path, n0=text)
    assert found.verdict is Verdict.HOLDS
    assert found.steps > 1
    assert "note: committed up to: 589,6" in notes(found)
    assert "led: 41 by v0:8201" in notes(found) or "led: 8 by n0" in notes(found)


def test_indexes_count_from_where_a_log_begins(tmp_path: Path) -> None:
    """A log costs no more if its indexes are high."""
    low = "".join(logback(*BROKER)).replace("5896", "6").replace("500000", "0")
    assert checked(tmp_path, n0=low).steps == checked(tmp_path, n0=logback(*BROKER)).steps


def test_json_lines_of_hclog_establish_what_its_text_does(tmp_path: Path) -> None:
    line = '{{"@level":"info","@message":"election won","@module":"agent.server.raft","@timestamp":"x","term":{}}}\n'
    found = checked(tmp_path, a=line.format(4), b=line.format(4))
    assert set(found.violations) == {"OneLeader"}
    assert checked(tmp_path, a=line.format(4), b=line.format(5)).verdict is Verdict.HOLDS


@pytest.mark.parametrize("term", ["null", "[4]", "1e400", "4.5", "true", "-4", '"\u0664"', '"4_0"', "9" * 30])
def test_a_number_that_is_none_establishes_nothing(tmp_path: Path, term: str) -> None:
    line = f'{{"@level":"info","@message":"election won","@module":"agent.server.raft","@timestamp":"x","term":{term}}}'
    found = checked(tmp_path, n0=f"{line}\n")
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "note: 1 line not looked at: election won (without its numbers) (1)" in notes(found)


@pytest.mark.parametrize(
    "line",
    [
        status("n1", "LEADER", 10**19, 9, 9),
        status("n1", "LEADER", 3, 10**19, 9),
        f"[n1] [ChangeRoleToLeader] from term: {10**19} and currTerm: 3",
        f"n1_[INCREASE_TERM] from {10**19} to 3",
        f"[HandleDoTruncate] truncateIndex={10**19} pos=371",
        f"Recover data to the end entryIndex={10**19}",
    ],
)
def test_a_number_that_no_long_has_establishes_nothing(tmp_path: Path, line: str) -> None:
    found = checked(tmp_path, n1=logback(COMMITTED, line, COMMITTED))
    assert (found.verdict, found.steps) == (Verdict.HOLDS, checked(tmp_path, n1=logback(COMMITTED, COMMITTED)).steps)
    assert "(without its numbers) (1)" in notes(found)


def test_a_log_that_establishes_nothing_does_not_pass(tmp_path: Path) -> None:
    found = checked(tmp_path, n0=hclog("[INFO]  nomad.raft: pipelining replication: peer=n1"))
    assert (found.verdict, found.reason) == (Verdict.INCONCLUSIVE, "no line establishes anything")


def test_a_file_of_no_system_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "other.log"
    path.write_text("2026-01-02T03:04:05.000Z [INFO]  agent: Synced node info\nhello\n")
    assert logging_system(path) is None
    assert KnownTraceCheck({})(path).verdict is Verdict.MALFORMED


#: As Consul 1.0 wrote them.
OLD = (
    "[INFO] raft: Node at 10.0.0.1:8300 [Candidate] entering Candidate state in term 31278",
    "[INFO] raft: Election won. Tally: 2",
    "[INFO] raft: Starting snapshot up to 481141933",
    "[INFO] snapshot: Creating new snapshot at /raft/snapshots/31278-481141933-1546432475010.tmp",
    "[INFO] raft: Snapshot to 481141933 complete",
    "[INFO] raft: Restored from snapshot 31278-481141933-1546432475010",
    "[WARN] raft: Failed to get previous log: 481141999 log not found (last: 481141940)",
    "[INFO] consul: New leader elected: node-1",
)


def before_hclog(*lines: str) -> str:
    return "".join(f"    2019/01/02 12:34:{second:02} {line}\n" for second, line in enumerate(lines))


def test_lines_from_before_hclog_are_read(tmp_path: Path) -> None:
    found = checked(tmp_path, a=before_hclog(*OLD))
    assert found.verdict is Verdict.HOLDS
    assert "led: 31278 by 10.0.0.1:8300" in notes(found)
    short = before_hclog(*OLD).replace("(last: 481141940)", "(last: 481141900)")
    assert set(checked(tmp_path, a=short).violations) == {"CommittedStays"}
    assert checked(tmp_path, a=before_hclog(*OLD)).steps == 9


def test_an_address_that_any_server_has_is_no_name(tmp_path: Path) -> None:
    """Vault without cluster_addr: every server calls itself [::]:8201."""
    logs = [hclog(*VAULT).replace("v0:8201", "[::]:8201").replace("term=41", f"term={term}") for term in (41, 42)]
    found = checked(tmp_path, a=logs[0], b=logs[1])
    assert found.verdict is Verdict.HOLDS
    assert "led: 41 by a, 42 by b" in notes(found)


def test_a_copy_of_a_log_is_refused(tmp_path: Path) -> None:
    text = hclog(*VAULT).replace("v0:8201", "[::]:8201")
    with pytest.raises(
        SeveralWritersError, match=r"a.log:3 and .*b.log:3 are the same line: both are logs of one node"
    ):
        checked(tmp_path, a=text, b=text)


# ---- Prefixes, and lines of others ----


@pytest.mark.parametrize("prefix", sorted(PREFIXES.keys() - {"none"}))
def test_a_prefix_is_taken_off_and_named(tmp_path: Path, prefix: str) -> None:
    lines = (PREFIXES[prefix](1.0, "raft-0", line) for line in hclog(*VAULT).splitlines())
    found = checked(tmp_path, n0="".join(f"{line}\n" for line in lines))
    assert found.verdict is Verdict.HOLDS
    assert found.steps == checked(tmp_path, n0=hclog(*VAULT)).steps
    assert "note: " + str(tmp_path / "n0.log") + ": the prefix of " in notes(found)


@pytest.mark.parametrize("prefix", NAMING)
def test_a_prefix_keeps_the_nodes_of_one_file_apart(prefix: str) -> None:
    reader = PrefixReader()
    for host in ("raft-0", "raft-1"):
        line = "2026-01-02T03:04:05.000Z [ERROR] agent.server.raft: failed to heartbeat to: peer=n2"
        origin, text = reader.read(PREFIXES[prefix](5.0, host, line))
        assert text == line
        assert host in origin
    assert sum(reader.counts.values()) == 2


def test_a_line_without_a_prefix_stays_as_it_is() -> None:
    reader = PrefixReader()
    lines = [*hclog(*VAULT, "[ERROR] agent.server.raft: failed to make requestVote RPC").splitlines()]
    lines += logback(*BROKER).splitlines()
    lines += ["2026-01-02T03:04:05.123Z INFO DLedger: one - [n0][HeartBeatTimeOut] a level is no host"]
    assert [reader.read(line) for line in lines] == [("", line) for line in lines]
    assert not reader.counts


def test_colours_are_taken_off(tmp_path: Path) -> None:
    text = hclog(*VAULT).replace("[INFO]", "\x1b[32m[INFO]\x1b[0m")
    assert checked(tmp_path, n0=text).steps == checked(tmp_path, n0=hclog(*VAULT)).steps


def test_unknown_lines_are_counted_by_kind_and_nodes_without_a_log_are_named(tmp_path: Path) -> None:
    text = hclog(*VAULT, "[INFO]  storage.raft: a message of a later version", "[INFO]  agent: Synced node info")
    assert "logger core (1)" in notes(checked(tmp_path, n0=text))
    assert "a message of a later version (1)" in notes(checked(tmp_path, n0=text))
    assert "note: nodes without a log: n1" in notes(checked(tmp_path, n0=logback(*BROKER)))


def test_lines_of_two_nodes_that_nothing_keeps_apart_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SeveralWritersError, match=r"group.log:3: the log is of n1 and n0: give each node its own"):
        checked(tmp_path, group=logback(*(status(node, "FOLLOWER", 3, 5, 5) for node in ("n0", "n1", "n0"))))


def test_logs_of_two_nodes_one_after_the_other_in_a_file_are_two_logs(tmp_path: Path) -> None:
    """Lines between the last that names the one and the first that names the other count for neither."""
    first = logback(follows("n0", "n2", 9), status("n0", "FOLLOWER", 9, 90, 90))
    second = logback("Recover data to the end entryIndex=5", follows("n1", "n2", 3), status("n1", "FOLLOWER", 3, 5, 5))
    found = checked(tmp_path, both=first + second)
    assert found.verdict is Verdict.HOLDS
    assert "note: committed up to: 90 by n0, 5 by n1" in notes(found)
    assert set(checked(tmp_path, both=first + second.replace("n1", "n0")).violations) == {"CommittedStays", "TermsRise"}


def test_logs_of_two_groups_are_refused(tmp_path: Path) -> None:
    """Consul and Nomad on the same hosts: each has a leader of term 41."""
    with pytest.raises(
        SeveralWritersError, match="the logs are of Vault and of Nomad: check those of each group alone"
    ):
        checked(tmp_path, v=hclog(*VAULT), n=hclog(*VAULT).replace("storage.raft", "nomad.raft").replace("v0", "n0"))


def test_two_logs_of_one_node_at_one_time_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SeveralWritersError, match="both are logs of n0 at one time: give one"):
        checked(tmp_path, a=logback(*BROKER), b=logback(*BROKER))


# ---- Contradictions: of each property the lines that break it, and the same lines but for one number ----

CONTRADICTIONS = {
    "OneLeader": ((logback(*leads("n0", 4, 9, 9)), logback(follows("n1", "n2", 4))), ("n2", "n0")),
    "OneVote": (
        (
            hclog("[DEBUG] nomad.raft: vote granted: from=n3 term=4 tally=2"),
            hclog("[DEBUG] nomad.raft: vote granted: from=n3 term=4 tally=2"),
        ),
        ("n3", "n4"),
    ),
    "LeaderHasCommitted": ((logback(*leads("n0", 3, 9, 9)), logback(*leads("n1", 4, 8, 8))), ("Index", "Index")),
    "CommittedStays": ((logback(COMMITTED, "Recover data to the end entryIndex=8"),), ("entryIndex=8", "entryIndex=9")),
    "CommittedRises": ((logback(COMMITTED, status("n1", "FOLLOWER", 3, 9, 8)),), ("committed=8", "committed=9")),
    "LeaderAppends": (
        (logback(*leads("n0", 3, 9, 5), status("n0", "LEADER", 3, 8, 5)),),
        ("ledgerEnd=8", "ledgerEnd=9"),
    ),
    "TermsRise": (
        (
            hclog(
                '[INFO]  nomad.raft: entering candidate state: node="Node at a [Candidate]" term=7',
                '[INFO]  nomad.raft: entering candidate state: node="Node at a [Candidate]" term=6',
            ),
        ),
        ("term=6", "term=8"),
    ),
    "TermsRiseInLog": (
        (
            hclog("[INFO]  raft: restored from snapshot: id=7-90-1 last-index=90 last-term=7"),
            hclog("[INFO]  raft: restored from snapshot: id=6-91-1 last-index=91 last-term=6"),
        ),
        ("last-term=6", "last-term=8"),
    ),
    "SnapshotStays": (
        (
            hclog(
                "[INFO]  raft: snapshot complete up to: index=90",
                "[INFO]  raft: restored from snapshot: id=7-80-1 last-index=80 last-term=7",
            ),
        ),
        ("last-index=80", "last-index=90"),
    ),
}


def test_every_property_has_lines_that_break_it() -> None:
    cfg = LOGGED_GROUP.trace_cfg.read_text().split()
    assert {word for word in cfg if word in CONTRADICTIONS} == CONTRADICTIONS.keys()
    assert len(cfg[cfg.index("INVARIANTS") :]) - 2 == len(CONTRADICTIONS)


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_lines_that_contradict_each_other_are_violated_at_their_line(tmp_path: Path, name: str) -> None:
    logs, (wrong, right) = CONTRADICTIONS[name]
    names = ("a", "b")[: len(logs)]
    found = checked(tmp_path, **dict(zip(names, logs, strict=True)))
    assert set(found.violations) == {name}
    assert found.findings[0].source == str(tmp_path / f"{names[-1]}.log")
    mended = [*logs[:-1], logs[-1].replace(wrong, right)]
    if name == "LeaderHasCommitted":
        mended = [logs[0], logback(*leads("n1", 4, 9, 8))]
    assert checked(tmp_path, **dict(zip(names, mended, strict=True))).verdict is Verdict.HOLDS


def test_an_end_that_is_cut_below_what_was_applied_is_violated(tmp_path: Path) -> None:
    lines = ("[INFO]  raft: starting snapshot up to: index=80", "[INFO]  raft: starting snapshot up to: index=90")
    found = checked(tmp_path, a=hclog(*lines, "[WARN]  raft: clearing log suffix: from=85 to=99"))
    assert set(found.violations) == {"CommittedStays"}
    for start in (91, 80):  # behind it; and where a snapshot may have come from a leader, before the log begins
        last = f"[WARN]  raft: clearing log suffix: from={start} to=99"
        assert checked(tmp_path, a=hclog(*lines, last)).verdict is Verdict.HOLDS


def test_a_truncation_counts_unless_it_failed(tmp_path: Path) -> None:
    cut = "[HandleDoTruncate] truncateIndex=7 pos=371"
    after = status("n1", "FOLLOWER", 3, 9, 9)
    assert set(checked(tmp_path, n1=logback(COMMITTED, cut, after)).violations) == {"CommittedStays"}
    failed = "[HandleDoTruncate] truncateIndex=7"
    assert checked(tmp_path, n1=logback(COMMITTED, cut, failed, after)).verdict is Verdict.HOLDS
    assert checked(tmp_path, n1=logback(COMMITTED, cut)).verdict is Verdict.HOLDS  # it may have failed


# ---- What is no contradiction ----


def test_a_line_that_was_cut_within_a_number_shows_nothing(tmp_path: Path) -> None:
    whole = logback(*leads("n1", 40, 9, 9), "[n1] [ChangeRoleToCandidate] from term: 40 and currTerm: 40")
    assert checked(tmp_path, n1=whole[: -len("0\n")]).verdict is Verdict.HOLDS
    killed = whole[: -len("0\n")] + logback("Recover data to the end entryIndex=9", "n1_[INCREASE_TERM] from 40 to 41")
    found = checked(tmp_path, n1=killed)
    assert found.verdict is Verdict.HOLDS
    assert "note: terms 40 to 41;" in notes(found)


def test_a_follower_that_names_no_leader_follows_nobody(tmp_path: Path) -> None:
    """DLedger writes what changeRoleToFollower was called with; a program that calls it may know no leader."""
    led = logback(*leads("n0", 3, 9, 9))
    found = checked(tmp_path, n0=led, n1=logback(follows("n1", "null", 3)))
    assert found.verdict is Verdict.HOLDS, found
    assert "led: 3 by n0" in notes(found)
    assert "null" not in notes(found)
    found = checked(tmp_path, n0=led, n1=logback(follows("n1", "n2", 3)))
    assert set(found.violations) == {"OneLeader"}


def test_a_status_that_was_read_while_the_role_changed_is_no_leader(tmp_path: Path) -> None:
    torn = status("n1", "LEADER", 5, 9, 9)  # the role of term 4, and the term after it
    lines = (*leads("n1", 4, 9, 9), "n1_[INCREASE_TERM] from 4 to 5", torn, follows("n1", "n0", 5))
    found = checked(tmp_path, n1=logback(*lines), n0=logback(*leads("n0", 5, 9, 9)))
    assert found.verdict is Verdict.HOLDS
    assert "5 by n0" in notes(found)


def test_a_status_that_is_written_late_is_of_no_earlier_term(tmp_path: Path) -> None:
    lines = (follows("n1", "n0", 4), status("n1", "FOLLOWER", 4, 9, 9), "n1_[INCREASE_TERM] from 4 to 5")
    assert checked(tmp_path, n1=logback(*lines, status("n1", "FOLLOWER", 4, 9, 9))).verdict is Verdict.HOLDS


def test_a_committed_index_that_is_read_behind_the_end_may_be_past_it(tmp_path: Path) -> None:
    early = status("n1", "FOLLOWER", 3, 8, 9)
    assert checked(tmp_path, n1=logback(early, COMMITTED)).verdict is Verdict.HOLDS
    assert set(checked(tmp_path, n1=logback(early, early)).violations) == {"CommittedStays"}


def test_a_process_that_died_while_it_wrote_its_term_may_begin_in_term_0(tmp_path: Path) -> None:
    def again(term: int) -> str:
        recovered = "Recover data to the end entryIndex=9"
        return logback("n1_[INCREASE_TERM] from 6 to 7", recovered, f"n1_[INCREASE_TERM] from {term} to 9")

    assert checked(tmp_path, n1=again(0)).verdict is Verdict.HOLDS
    assert checked(tmp_path, n1=again(7)).verdict is Verdict.HOLDS
    assert set(checked(tmp_path, n1=again(5)).violations) == {"TermsRise"}


def test_a_server_that_asks_for_pre_votes_is_in_the_term_before(tmp_path: Path) -> None:
    lines = ("[INFO]  nomad.raft: entering candidate state: term=5", "duplicate requestVote for same term: term={}")
    for term, verdict in ((4, Verdict.HOLDS), (3, Verdict.VIOLATED)):
        voted = f"[INFO]  nomad.raft: {lines[1].format(term)}"
        assert checked(tmp_path, a=hclog(lines[0], voted)).verdict is verdict


def test_no_verdict_depends_on_the_clocks_of_the_nodes(tmp_path: Path) -> None:
    logs, _ = CONTRADICTIONS["LeaderHasCommitted"]
    earlier = logs[1].replace("2026-01-02", "2025-12-31")
    assert set(checked(tmp_path, a=logs[0], b=earlier).violations) == {"LeaderHasCommitted"}


# ---- lockstep check ----


def test_check_knows_the_system_of_several_logs_by_their_lines(tmp_path: Path) -> None:
    other = hclog(*VAULT[:3]).replace("v0", "v1").replace("03:04", "03:05")
    for name, text in {"v0": hclog(*VAULT), "v1": other, "copy": hclog(*VAULT)}.items():
        (tmp_path / f"{name}.log").write_text(text)
    ran = lockstep("check", "v0.log", "v1.log", cwd=tmp_path)
    assert ran.returncode == 1
    assert ran.stdout.startswith("v0.log, v1.log: violated: what these lines establish breaks OneLeader, OneVote")
    assert "v1.log:3: LS100 OneLeader is violated by Leads" in ran.stdout
    refused = lockstep("check", "v0.log", "copy.log", cwd=tmp_path)
    assert refused.returncode == 2
    assert "v0.log:3 and copy.log:3 are the same line: both are logs of one node, give one" in refused.stdout


def test_a_log_from_the_first_start_is_checked_step_by_step_and_a_part_of_it_is_not(tmp_path: Path) -> None:
    whole = traces_dir() / "captured" / "dledger" / "dledger-0.2.7-leader_partition.log"
    part = tmp_path / "part.log"
    part.write_text("".join(whole.read_text().splitlines(keepends=True)[-200:]))
    assert "imported from a log of DLedger" in notes(KnownTraceCheck({})(whole))
    found = KnownTraceCheck({})(part)
    assert found.verdict is Verdict.HOLDS
    assert "not checked step by step: " in notes(found)
    assert {system.spec for system in SYSTEMS.values() if system.own_logs is not None} == {
        subject.spec for subject in SUBJECTS
    }


def test_the_page_shows_what_check_prints(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "traces" / "operator_logs.md").read_text()
    block = page.partition("$ cat vault-0.log\n")[2].partition("\n```")[0]
    log, _, printed = block.partition("\n\n$ lockstep check vault-0.log\n")
    (tmp_path / "vault-0.log").write_text(log + "\n")
    assert lockstep("check", "vault-0.log", cwd=tmp_path).stdout.strip() == printed.strip()


# ---- Simulated hours ----

#: Clusters under every fault: 79 breaks a property of the full spec, and its lines show it.
SAMPLE = (*range(12), 79)


@pytest.mark.parametrize("seeds", sampled([SAMPLE, range(1000)], [SAMPLE]), ids=len)
def test_no_cluster_is_blamed_by_its_lines_for_what_it_did_not_do(seeds: Sequence[int], tmp_path: Path) -> None:
    blamed = 0
    for seed in seeds:
        (tmp_path / str(seed)).mkdir()
        found, broken = of_cluster(seed, tmp_path / str(seed))
        blamed += found.verdict is Verdict.VIOLATED
        assert broken or found.verdict is not Verdict.VIOLATED, f"{seed}: {found.reason}"
    assert blamed > 0


#: Hours of each system, and cuts of each: 1,000 without a loss, and as many with one.
HOURS, CUTS = 5, 100


@pytest.mark.nightly
def test_no_log_of_a_thousand_is_blamed_wrongly_and_a_loss_is_found_in_nine_of_ten() -> None:
    found = list(survey(HOURS, CUTS))
    whole, lossy = ([each for each in found if (each.loss is None) is kept] for kept in (True, False))
    assert len(whole) == len(lossy) == 1000
    assert sum(each.verdict is not None and each.verdict.steps > 0 for each in whole) > 900
    suspects = {(each.spec, each.seed, each.released) for each in whole if each.is_blamed}
    wrong = [
        suspect
        for suspect in suspects
        for subject in SUBJECTS
        if subject.spec == suspect[0] and not breaks_a_property(subject, suspect[1], released=suspect[2])
    ]
    noticed = sum(each.is_blamed for each in lossy)
    print(f"{noticed} of {len(lossy)} losses found, {len(suspects)} hours suspected, of these {len(wrong)} wrongly")
    assert wrong == []
    assert noticed >= 0.9 * len(lossy)
