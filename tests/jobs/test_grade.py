"""`lockstep grade --lab`: logs of a right solution and of mistakes in it, bad input, and pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lockstep.cli.grade_command import command
from lockstep.jobs.grade.lab import load_lab
from lockstep.jobs.grade.lab_lines import lab_tests
from lockstep.systems.file_check import own_check
from tests.support.places import ROOT

LOGS = ROOT / "docs" / "lab"
BOOTS = "".join(f"000000 STEP S{n}.{n + 1} follower T0 vote=-1 last=0:0 commit=0 boot of=3\n" for n in range(3))
TIMEOUT = "000201 STEP S0.1 candidate T1 vote=0 last=0:0 commit=0 timeout\n"
VOTE = "000203 STEP S1.2 follower T1 vote=0 last=0:0 commit=0 vote from=0 term=1 last=0:0 reply=1 granted=true\n"
ELECTED = "000205 STEP S0.1 leader T1 vote=0 last=0:0 commit=0 ballot from=1 asked=1 reply=1 granted=true\n"


def grade(*words: str | Path) -> Result:
    return CliRunner().invoke(command, ["--lab", "--no-diagnosis", *map(str, words)], standalone_mode=False)


@pytest.fixture
def graded(tmp_path: Path) -> Callable[[str], Result]:
    def run(text: str) -> Result:
        path = tmp_path / "out.log"
        path.write_text(text, encoding="utf-8")
        return grade(path)

    return run


def test_a_right_solution_holds_in_each_of_its_tests() -> None:
    found = grade(LOGS / "right.log")
    assert found.return_value == 0
    assert re.findall(r"^Test .*: (\w+) \((\d+) lines\)$", found.output, re.MULTILINE) == [
        ("holds", "64"),
        ("holds", "251"),
    ]
    assert "2 tests: 2 holds; passed over: 4 lines of other prints" in found.output


@pytest.mark.parametrize(
    ("log", "line", "rule"),
    [
        ("votes_twice", 7, "RequestVote RPC, receiver 2: votedFor"),
        ("always_cuts", 50, "AppendEntries RPC, receiver 3: only on conflict"),
        ("commits_earlier_term", 39, "Rules for Servers, Leaders 4: term (5.4.2)"),
    ],
)
def test_a_mistake_is_named_by_its_rule_in_figure_2(log: str, line: int, rule: str) -> None:
    found = grade(LOGS / f"{log}.log")
    assert found.return_value == 1
    assert f"{log}.log:{line}: breaks {rule}\n" in found.output


@pytest.mark.nightly
@pytest.mark.parametrize(("log", "line"), [("votes_twice", 7), ("always_cuts", 50), ("commits_earlier_term", 39)])
def test_tlc_alone_refuses_the_same_line(tmp_path: Path, log: str, line: int) -> None:
    lab = load_lab()
    (test,) = lab_tests(LOGS / f"{log}.log", lab)
    test.write(tmp_path / "all.log")
    part = (tmp_path / "all.log").read_text(encoding="utf-8").splitlines(keepends=True)[: line + 2]
    (tmp_path / "part.log").write_text("".join(part), encoding="utf-8")
    found = own_check(lab.files(literal=False), by_tlc=True).check_steps(tmp_path / "part.log")
    assert found.deviation is not None
    assert found.deviation.line == line


def test_the_cause_is_named_with_the_first_test_that_breaks_a_rule() -> None:
    found = CliRunner().invoke(command, ["--lab", str(LOGS / "votes_twice.log")], standalone_mode=False)
    assert re.search(
        r"^ +cause +LabElections\.tla:\d+:\d+: vote \\in \{None, from\} is FALSE", found.output, re.MULTILINE
    )


def test_what_is_safe_though_figure_2_has_it_otherwise_is_named_and_holds() -> None:
    found = grade(LOGS / "wants_longer_log.log")
    assert found.return_value == 0
    assert "wants_longer_log.log:6: safe, but not as in RequestVote RPC, receiver 2: grant\n" in found.output


def test_a_wrong_value_after_a_step_is_named_by_its_rule(graded: Callable[[str], Result]) -> None:
    found = graded(BOOTS + TIMEOUT.replace("T1", "T2"))
    assert found.return_value == 1
    assert ":4: breaks Rules for Servers, Candidates 1: increment currentTerm\n" in found.output


def test_a_server_that_comes_back_without_its_vote_is_refused(graded: Callable[[str], Result]) -> None:
    again = "000301 STEP S1.4 follower T1 vote=-1 last=0:0 commit=0 boot of=3\n"
    forgotten = graded(BOOTS + TIMEOUT + VOTE + ELECTED + again)
    assert forgotten.return_value == 1
    assert ":7: breaks State, persistent: votedFor\n" in forgotten.output
    kept = graded(BOOTS + TIMEOUT + VOTE + ELECTED + again.replace("vote=-1", "vote=0"))
    assert kept.return_value == 0, kept.output


def test_what_nobody_heard_of_may_be_lost_with_its_process(graded: Callable[[str], Result]) -> None:
    back = "000301 STEP S1.4 follower T0 vote=-1 last=0:0 commit=0 boot of=3\n"
    assert graded(BOOTS + TIMEOUT + VOTE + back).return_value == 0
    assert graded(BOOTS + TIMEOUT + VOTE + ELECTED + back).return_value == 1


BACK = "S1.4 follower T0 vote=-1 last=0:0 commit=0 boot of=3"

NOT_SENT = "S1.2 follower T1 vote=0 last=0:0 commit=0 entries from=0 term=1 prev=1:1 new=0:0 commit=0 reply=1 ok=false"


def steps(*lines: str) -> str:
    return BOOTS + "".join(f"000201 STEP {line}\n" for line in lines)


def test_a_vote_that_was_lost_with_its_process_is_not_counted_later(graded: Callable[[str], Result]) -> None:
    both = ("S0.1 candidate T1 vote=0 last=0:0 commit=0 timeout", "S2.3 candidate T1 vote=2 last=0:0 commit=0 timeout")
    vote = "S1.{} follower T1 vote={} last=0:0 commit=0 vote from={} term=1 last=0:0 reply=1 granted=true"
    lead = "S{} leader T1 vote={} last=0:0 commit=0 ballot from=1 asked=1 reply=1 granted=true"
    again = (*both, vote.format(2, 0, 0), BACK, vote.format(4, 2, 2), lead.format(2.3, 2))
    assert graded(steps(*again)).return_value == 0
    found = graded(steps(*again, "S1.4 candidate T2 vote=1 last=0:0 commit=0 timeout", lead.format(0.1, 0)))
    assert found.return_value == 1
    assert ":11: breaks RequestVote RPC, results: voteGranted\n" in found.output


def test_what_a_leader_has_counted_may_not_be_lost(graded: Callable[[str], Result]) -> None:
    stored = "S1.2 follower T1 vote=0 last={} commit=0 entries from=0 term=1 prev=0:0 new={} commit=0 reply=1 ok=true"
    run = (
        'S0.1 leader T1 vote=0 last=1:1 commit=0 start index=1 cmd="a"',
        stored.format("0:0", "0:0"),
        stored.format("1:1", "1:1"),
        "S0.1 leader T1 vote=0 last=1:1 commit=1 ack from=1 asked=1 prev=0 new=0 reply=1 ok=true match=1",
        "S1.4 follower T1 vote=0 last={} commit=0 boot of=3",
    )
    text = BOOTS + TIMEOUT + VOTE + ELECTED + steps(*run).removeprefix(BOOTS)
    lost = graded(text.format("0:0"))
    assert lost.return_value == 1
    assert ":11: breaks State, persistent: log[]\n" in lost.output
    kept = graded(text.format("1:1"))
    assert kept.return_value == 0, kept.output


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("S2.3 leader T1 vote=2 last=0:0 commit=0 lead", "Rules for Servers, Candidates 2: majority"),
        (NOT_SENT, "AppendEntries RPC, arguments: prevLogIndex"),
    ],
)
def test_what_no_leader_may_do_or_send_is_refused(graded: Callable[[str], Result], line: str, rule: str) -> None:
    other = "S2.3 candidate T1 vote=2 last=0:0 commit=0 timeout"
    found = graded(BOOTS + TIMEOUT + VOTE + ELECTED + steps(other, line).removeprefix(BOOTS))
    assert found.return_value == 1
    assert f": breaks {rule}\n" in found.output


def test_a_note_of_who_leads_in_voted_for_is_safe(graded: Callable[[str], Result]) -> None:
    line = "S2.3 follower T1 vote={} last=0:0 commit=0 entries from=0 term=1 prev=0:0 new=0:0 commit=0 reply=1 ok=true"
    noted = graded(BOOTS + TIMEOUT + VOTE + ELECTED + steps(line.format(0)).removeprefix(BOOTS))
    assert noted.return_value == 0
    assert ":7: safe, but not as in State, persistent: votedFor\n" in noted.output
    other = graded(BOOTS + TIMEOUT + VOTE + ELECTED + steps(line.format(1)).removeprefix(BOOTS))
    assert ":7: breaks State, persistent: votedFor\n" in other.output


def test_a_server_without_others_may_lead_at_once(graded: Callable[[str], Result]) -> None:
    alone = "000000 STEP S0.1 follower T0 vote=-1 last=0:0 commit=0 boot of={}\n"
    leads = "000201 STEP S0.1 leader T1 vote=0 last=0:0 commit=0 timeout\n"
    assert graded(alone.format(1) + leads).return_value == 0
    assert graded(alone.format(3) + leads).return_value == 1


def test_lines_of_a_process_that_was_replaced_are_passed_over(graded: Callable[[str], Result]) -> None:
    back = "000301 STEP S0.4 follower T1 vote=0 last=0:0 commit=0 boot of=3\n"
    found = graded(BOOTS + TIMEOUT + back + ELECTED)
    assert found.return_value == 0
    assert "0 lines of other prints, 1 of servers that had been replaced" in found.output


def test_other_prints_are_counted(graded: Callable[[str], Result]) -> None:
    found = graded("a banner\n" + BOOTS + "000200 VOTE S1 grants its vote to S0\n" + TIMEOUT + "000900 STEP S0.1 foll")
    assert found.return_value == 0
    assert "passed over: 2 lines of other prints" in found.output


def test_a_last_line_without_an_end_is_named_as_not_graded(graded: Callable[[str], Result]) -> None:
    """It may be half a line: `commit=1` of `commit=12`."""
    whole = (LOGS / "votes_twice.log").read_text(encoding="utf-8").splitlines(keepends=True)[:7]
    assert graded("".join(whole)).return_value == 1
    found = graded("".join(whole).rstrip("\n"))
    assert found.return_value == 0
    assert found.output.endswith("out.log ends within a line, which is not graded\n")
    assert "ends within a line" not in graded("".join(whole[:6])).output


@pytest.mark.parametrize("text", ["", "PASS\nok labraft 1.2s\n", "Test (3A): initial election ...\n  ... Passed\n"])
def test_a_log_without_a_line_of_a_server_is_no_pass(graded: Callable[[str], Result], text: str) -> None:
    found = graded(text)
    assert found.return_value == 3
    assert "no server printed a line" in found.output


def test_the_worst_test_gives_the_exit_code(graded: Callable[[str], Result]) -> None:
    found = graded(f"Test (3A): one ...\n{BOOTS}Test (3A): two ...\n{BOOTS}{TIMEOUT.replace('vote=0', 'vote=1')}")
    assert found.return_value == 1
    assert "Test (3A): one: holds" in found.output
    assert ":9: breaks Rules for Servers, Candidates 1: vote for self" in found.output


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (TIMEOUT.replace("vote=0", "vote=x"), r"field `vote`: expected vote=-?\d, not 'vote=x'"),
        (TIMEOUT.replace("candidate", "boss"), "field `role`: expected follower|candidate|leader, not 'boss'"),
        (TIMEOUT.replace("timeout", "timeuot"), "field `event`: there is no 'timeuot'; did you mean timeout?"),
        (VOTE.replace("term=1", "term="), r"field `term`: expected term=\d+, not 'term='"),
        (TIMEOUT.replace("S0.1", "S0.7"), "field `life`: process 7 of S0 has no line `boot`"),
    ],
)
def test_a_malformed_line_is_named_with_its_field(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "out.log"
    path.write_text(BOOTS + line, encoding="utf-8")
    found = grade(path)
    assert str(found.exception) == f"{path}:4: {problem}; docs/lab.md has the form of each line"


def test_a_page_shows_the_first_test_that_breaks_a_rule(tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    found = grade(LOGS / "right.log", LOGS / "votes_twice.log", "--page", page)
    assert f"{page}: 7 of 7 states of Test (3A): initial election, seed 2" in found.output
    assert "votes_twice.log" in page.read_text(encoding="utf-8")


def test_no_page_is_written_where_no_server_printed_a_line(tmp_path: Path) -> None:
    log, page = tmp_path / "out.log", tmp_path / "out.html"
    log.write_text("PASS\n", encoding="utf-8")
    found = grade(log, "--page", page)
    assert "no page: no server printed a line" in found.output
    assert not page.exists()


def test_a_page_has_a_cause_only_if_the_grade_looks_for_it(tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    grade(LOGS / "votes_twice.log", "--page", page)
    assert "is FALSE" not in page.read_text(encoding="utf-8")


def test_a_page_does_not_overwrite_a_log(tmp_path: Path) -> None:
    log = tmp_path / "out.log"
    log.write_text(BOOTS, encoding="utf-8")
    assert "would overwrite" in str(grade(log, "--page", log).exception)
    assert log.read_text(encoding="utf-8") == BOOTS


def test_each_rule_that_a_mutant_may_be_given_is_one_that_lockstep_can_name() -> None:
    lab = load_lab()
    spec = "".join(path.read_text(encoding="utf-8") for path in lab.folder.glob("*.tla"))
    known = {*re.findall(r"\\\* (.+?) *$", spec, re.MULTILINE), *lab.text.shows.values()}
    from tests.scripts.lab_mutants import mutants

    unknown = {name for mutant in mutants() for name in mutant.breaks} - known
    assert not unknown


def test_the_lines_of_a_test_keep_their_numbers(tmp_path: Path) -> None:
    (first, second) = lab_tests(LOGS / "right.log", load_lab())
    second.write(tmp_path / "second.log")
    written = (tmp_path / "second.log").read_text(encoding="utf-8").splitlines()
    whole = (LOGS / "right.log").read_text(encoding="utf-8").splitlines()
    assert {number: whole[number - 1] for number in second.lines} == second.lines
    assert [line for line in written if line] == list(second.lines.values())
    assert written.index(next(iter(second.lines.values()))) + 1 == next(iter(second.lines))
    assert len(first.lines) == 64


def test_the_page_for_students_quotes_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "docs")
    text = (ROOT / "docs" / "lab.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```text\n\$ lockstep grade --lab (\S+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    for log, expected in blocks:
        assert CliRunner().invoke(command, ["--lab", log], standalone_mode=False).output == expected


def test_the_function_that_students_copy_is_that_of_the_solution() -> None:
    page = (ROOT / "docs" / "lab.md").read_text(encoding="utf-8")
    solution = (ROOT / "tests" / "support" / "lab_raft" / "raft.go").read_text(encoding="utf-8")
    form = re.search(r'"%06d STEP [^"]*"', solution)
    assert form is not None
    assert form[0] in page
    for call in re.findall(r'rf\.step\(("[a-z]+[^"]*")', page):
        kind = call.strip('"').split()[0]
        if kind not in ("lead", "commit", "follow"):
            assert call.replace("%.20q", "%s") in solution, call


# ---- What no run reaches as long as the other rules are kept ----

#: S0 commits and applies `a`; then S2, whose log is empty, is elected with the vote of S1, and takes `b`.
WITHOUT_UP_TO_DATE = (
    BOOTS
    + TIMEOUT
    + VOTE
    + ELECTED
    + """000210 STEP S0.1 leader T1 vote=0 last=1:1 commit=0 start index=1 cmd="a"
000212 STEP S1.2 follower T1 vote=0 last=1:1 commit=0 entries from=0 term=1 prev=0:0 new=1:1 commit=0 reply=1 ok=true
000214 STEP S0.1 leader T1 vote=0 last=1:1 commit=1 ack from=1 asked=1 prev=0 new=1 reply=1 ok=true match=1
000215 STEP S0.1 leader T1 vote=0 last=1:1 commit=1 apply index=1 cmd="a"
000220 STEP S2.3 candidate T1 vote=2 last=0:0 commit=0 timeout
000230 STEP S2.3 candidate T2 vote=2 last=0:0 commit=0 timeout
000231 STEP S1.2 follower T2 vote=2 last=1:1 commit=0 vote from=2 term=2 last=0:0 reply=2 granted=true
000232 STEP S2.3 leader T2 vote=2 last=0:0 commit=0 ballot from=1 asked=2 reply=2 granted=true
000233 STEP S2.3 leader T2 vote=2 last=1:2 commit=0 start index=1 cmd="b"
"""
)
ENTRIES = "last=1:2 commit={} entries from=2 term=2 prev=0:0 new=1:2 commit=0 reply=2 ok=true\n"
OVERWRITTEN = "000234 STEP S0.1 follower T2 vote=-1 " + ENTRIES.format(1)
APPLIED_TWICE = (
    "000234 STEP S1.2 follower T2 vote=2 "
    + ENTRIES.format(0)
    + """000235 STEP S2.3 leader T2 vote=2 last=1:2 commit=1 ack from=1 asked=2 prev=0 new=1 reply=2 ok=true match=1
000236 STEP S2.3 leader T2 vote=2 last=1:2 commit=1 apply index=1 cmd="b"
"""
)
TWO_LEADERS = (
    BOOTS
    + TIMEOUT
    + VOTE
    + ELECTED
    + """000220 STEP S2.3 candidate T1 vote=2 last=0:0 commit=0 timeout
000221 STEP S2.3 leader T1 vote=2 last=0:0 commit=0 lead
"""
)


@pytest.mark.parametrize(
    ("left_out", "text", "rule"),
    [
        ("IsElected", TWO_LEADERS, "Election Safety (5.2)"),
        ("IsUpToDate", WITHOUT_UP_TO_DATE + OVERWRITTEN, "State Machine Safety (5.4.3)"),
        ("IsUpToDate", WITHOUT_UP_TO_DATE + APPLIED_TWICE, "State Machine Safety (5.4.3)"),
    ],
    ids=["two leaders", "overwritten", "applied twice"],
)
def test_what_is_promised_is_refused_at_its_last_line_where_a_rule_is_left_out(
    left_out: str, text: str, rule: str, tmp_path: Path
) -> None:
    """Spec and cfg are the lab's, but for one rule; so each promise is a condition by itself."""
    lab = load_lab()
    files = lab.files(literal=False)
    params = {"IsElected": "votes", "IsUpToDate": "log, last, lastTerm"}[left_out]
    (tmp_path / "Loose.tla").write_text(
        f"---- MODULE Loose ----\nEXTENDS LabRaft\nAny({params}) == TRUE\n====\n", encoding="utf-8"
    )
    cfg = files.cfg.read_text(encoding="utf-8") + f"CONSTANT {left_out} <- Any\n"
    (tmp_path / "Loose.cfg").write_text(cfg, encoding="utf-8")
    loose = replace(files, module=tmp_path / "Loose.tla", named_cfg=tmp_path / "Loose.cfg", library=(lab.folder,))
    log = tmp_path / "out.log"
    log.write_text(text, encoding="utf-8")
    found = own_check(loose).check_steps(log).deviation
    assert found is not None
    assert (found.line, lab.rule(found)) == (text.count("\n"), rule)
