"""Logs of a system as its author has them: several files, clocks that differ, steps without a line."""

from __future__ import annotations

import copy
import gzip
import json
import random
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.logs import clock_skew
from lockstep.logs.explanation_search import Explanations, explain
from lockstep.logs.line_order import Order
from lockstep.logs.line_steps import LineSteps
from lockstep.logs.log_lines import Thread, ThreadLine
from lockstep.logs.log_records import records
from lockstep.logs.log_rotation import logs_of
from lockstep.logs.mapping import Mapping, MappingError, Text, line_of, read_mapping
from lockstep.logs.mapping_rules import Rules
from lockstep.logs.schema_mismatch import first_misfit
from lockstep.logs.stray_lines import StrayLines
from lockstep.logs.text_formats import line_splitter
from lockstep.logs.timestamps import nanoseconds
from lockstep.models.search_result import SpecFiles
from lockstep.report.junit_xml import junit_xml
from lockstep.systems.file_check import OwnTraceCheck, own_check
from tests.support.logs.backup_service import EXAMPLE, service
from tests.support.programs.lockstep_command import lockstep
from tests.support.sampling import sampled

#: Number of runs of the service that every run of the tests checks, and that the nightly tests check.
EVERY_RUN, NIGHTLY = 4, 1000


@pytest.fixture(scope="module")
def primary_backup() -> OwnTraceCheck:
    return own_check(SpecFiles(EXAMPLE / "PrimaryBackup.tla", mapping=EXAMPLE / "mapping.toml"))


def test_a_service_that_is_right_is_explained_though_half_of_it_is_not_logged(
    primary_backup: OwnTraceCheck, tmp_path: Path
) -> None:
    for seed in range(EVERY_RUN):
        found = primary_backup.check_logs(service(tmp_path / str(seed), seed))
        assert (found.verdict, found.findings) == (Verdict.HOLDS, []), (seed, found.reason)
        assert found.ambiguity is not None
        assert found.ambiguity.hidden["Acknowledge"] > 20
        assert found.ambiguity.states > 1
        assert next(iter(found.ambiguity.entropy)) == "acked"
        assert found.steps > found.events > 100


def test_a_hasty_commit_is_refuted_at_its_line_with_the_backup_that_lacks_it(
    primary_backup: OwnTraceCheck, tmp_path: Path
) -> None:
    for seed in range(EVERY_RUN // 2):
        found = primary_backup.check_logs(service(tmp_path / str(seed), seed, "--hasty"))
        (finding,) = found.findings
        assert (found.verdict, finding.code, finding.name) == (Verdict.VIOLATED, "LS205", "Commit")
        line = json.loads(Path(finding.source).read_text().splitlines()[finding.line - 1])
        assert line["event"] == "committed"
        said = "\n".join(finding.details)
        assert "\\A b \\in Backup : n <= acked[b]" in said
        assert f"left:  {line['upto']}" in said
        assert "with b = b" in said
        assert "state acked = " in said


@pytest.mark.nightly
def test_a_thousand_runs_raise_no_false_alarm(primary_backup: OwnTraceCheck, tmp_path: Path) -> None:
    for seed in range(NIGHTLY):
        found = primary_backup.check_logs(service(tmp_path / str(seed), seed))
        assert found.verdict is Verdict.HOLDS, (seed, found.reason)


def with_a_fast_clock(folder: Path, milliseconds: int) -> None:
    """Make the clock of b1 as much faster."""
    lines = [json.loads(line) for line in (folder / "b1.log").read_text().splitlines()]
    fast = "".join(json.dumps(line | {"ts": line["ts"] + milliseconds}) + "\n" for line in lines)
    (folder / "b1.log").write_text(fast)


@pytest.mark.parametrize("milliseconds", sampled([60, 1000, 3_600_000], [60]))
def test_clocks_that_differ_by_more_than_is_declared_are_named_as_the_reason(
    milliseconds: int, primary_backup: OwnTraceCheck, tmp_path: Path
) -> None:
    """The difference that is named is a little more than the least one; an hour suggests a wrong time zone."""
    logs = service(tmp_path, 1)
    with_a_fast_clock(tmp_path, milliseconds)
    found = primary_backup.check_logs(logs)
    assert found.verdict is Verdict.VIOLATED
    (note,) = (each for each in found.notes if "clocks" in each)
    named = re.fullmatch(
        r"note: if the clocks differ by ([\d,]+) ms, a behaviour explains these lines; the mapping says 4 ms", note
    )
    assert named is not None, note
    enough = int(named[1].replace(",", ""))
    assert milliseconds * 0.8 < enough < milliseconds * 1.2
    text = (EXAMPLE / "mapping.toml").read_text()
    assert text.count('skew = "4 ms"') == 1
    for skew, verdict in ((enough, Verdict.HOLDS), (enough * 2 // 3, Verdict.VIOLATED)):
        (tmp_path / "mapping.toml").write_text(text.replace('skew = "4 ms"', f'skew = "{skew} ms"'))
        judge = own_check(SpecFiles(EXAMPLE / "PrimaryBackup.tla", mapping=tmp_path / "mapping.toml"))
        assert judge.check_logs(logs).verdict is verdict, skew


def test_no_difference_of_clocks_is_tried_that_exceeds_that_of_all_stamps() -> None:
    def thread(*times: int) -> Thread:
        return Thread("a.log", [ThreadLine(1, "", (), time=time * clock_skew.MILLISECOND) for time in times])

    tried: list[int] = []

    def explains(skew: int) -> bool:
        tried.append(skew // clock_skew.MILLISECOND)
        return False

    assert clock_skew.least_skew(explains, [thread(0, 5), thread(100)], 4 * clock_skew.MILLISECOND) is None
    assert tried == [8, 16, 32, 64, 100]
    tried.clear()
    for threads, declared in (([thread(0, 100)], 4), ([thread(0), thread(100)], 100), ([thread(), thread()], 0)):
        assert clock_skew.least_skew(explains, threads, declared * clock_skew.MILLISECOND) is None
    assert not tried


def test_the_note_on_clocks_costs_no_more_than_a_bound_whatever_the_logs_are(
    primary_backup: OwnTraceCheck, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent: list[int] = []

    def counting(order: Order, steps: LineSteps, *starts: Any, max_states: int, **options: Any) -> Explanations:
        spent.append(max_states * sum(len(thread.lines) for thread in order.threads))
        return explain(order, steps, *starts, max_states=max_states, **options)

    monkeypatch.setattr(clock_skew, "explain", counting)
    for puts in (5, 40, 500):
        spent.clear()
        logs = service(tmp_path / str(puts), 1, "--hasty", "--puts", str(puts))
        found = primary_backup.check_logs(logs)
        assert found.verdict is Verdict.VIOLATED
        assert all(each <= 1000 for each in spent)
        assert bool(spent) is (puts < 500)


CROWD = """kind = "event"
files = "together"
node = { value = "p" }
hidden = { Put = 100, Store = 100 }
[lines.see]
shows = { entries = { field = "entries", optional = true } }
"""


def test_a_search_that_takes_too_long_is_given_up_at_the_line_that_it_reached(tmp_path: Path) -> None:
    """Some 400,000 states may come before the second line, each of them by hidden steps."""
    (tmp_path / "mapping.toml").write_text(CROWD)
    (tmp_path / "a.log").write_text('{"event": "see"}\n' * 3 + '{"event": "see", "entries": 300}\n')
    own = ["--spec", EXAMPLE / "PrimaryBackup.tla", "--mapping", "mapping.toml", "--timeout", "3", "a.log"]
    begin = time.monotonic()
    done = lockstep("check", *map(str, own), cwd=tmp_path)
    assert time.monotonic() - begin < 30
    assert done.returncode == 3
    assert re.search(r"not every explanation was tried: the 3 s of --timeout are spent at line \d of 4", done.stdout)


def test_an_interrupted_search_for_a_note_prints_the_verdict_that_is_known(tmp_path: Path) -> None:
    logs = service(tmp_path / "hasty", 1, "--hasty")
    script = """
import os, signal, sys, time
from lockstep.cli import command_line as cli
from lockstep.logs import clock_skew
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests in the background has it ignored
def enough(*_):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
clock_skew.sufficient_skew = enough
cli.main()
"""
    command = ["check", "--spec", EXAMPLE / "PrimaryBackup.tla", "--mapping", EXAMPLE / "mapping.toml"]
    for form in ("text", "json", "jsonl"):
        found = subprocess.run(
            [sys.executable, "-c", script, *map(str, [*command, "--format", form, *logs])],
            capture_output=True, text=True, check=False, timeout=50,
        )  # fmt: skip
        assert (found.returncode, found.stderr.splitlines()[-1]) == (130, "interrupted")
        if form == "text":
            assert "violated: no behaviour of the spec explains line 9" in found.stdout
            assert "LS205" in found.stdout
        else:
            printed = json.loads(found.stdout)
            (verdict,) = printed if form == "json" else [printed]
            assert (verdict["verdict"], verdict["findings"][0]["line"]) == ("violated", 9)


def test_the_command_takes_the_files_as_the_logs_of_one_system(tmp_path: Path) -> None:
    service(tmp_path / "right", 2)
    service(tmp_path / "hasty", 2, "--hasty")
    command = [sys.executable, "-m", "lockstep", "check", "--spec", EXAMPLE / "PrimaryBackup.tla", "--mapping"]

    def check(*words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*map(str, [*command, EXAMPLE / "mapping.toml", *words])], capture_output=True, text=True, check=False
        )

    logs = sorted((tmp_path / "right").glob("*.log"))
    right = check("--format", "json", *logs)
    (verdict,) = json.loads(right.stdout)
    assert verdict["sources"] == list(map(str, logs))
    assert verdict["source"] == ", ".join(verdict["sources"])
    assert (right.returncode, verdict["verdict"]) == (0, "holds")
    assert verdict["ambiguity"]["states"] > 1
    hasty = check("--no-diagnosis", *(tmp_path / "hasty").glob("*.log"))
    assert hasty.returncode == 1
    assert "p.log:" in hasty.stdout
    assert "LS205 no behaviour of the spec explains this line" in hasty.stdout
    missing = check(tmp_path / "right" / "p.log", tmp_path / "right" / "b9.log")
    assert missing.returncode == 2
    assert "b9.log" in missing.stdout
    assert "holds" not in missing.stdout


#: The options of the service, and the folder of its logs.
SHOWN = (((), "logs"), (("--hasty",), "hasty"))


@pytest.mark.parametrize(("words", "folder"), SHOWN)
def test_the_page_shows_what_is_printed(words: tuple[str, ...], folder: str, tmp_path: Path) -> None:
    for file in EXAMPLE.glob("*.*"):
        shutil.copy(file, tmp_path)
    subprocess.run([sys.executable, "service.py", *words, folder], cwd=tmp_path, check=True)
    files = sorted(f"{folder}/{path.name}" for path in (tmp_path / folder).iterdir())
    own = ["--spec", "PrimaryBackup.tla", "--mapping", "mapping.toml", *files]
    check = lockstep("check", *own, cwd=tmp_path)
    shown = check.stdout.partition("\nreplay:")[0].strip()
    assert shown in (EXAMPLE / "README.md").read_text()
    assert (check.returncode, "LS205" in shown) == ((1, True) if words else (0, False))


def test_the_examples_of_text_on_the_page_are_read_as_it_says(tmp_path: Path) -> None:
    page = (EXAMPLE / "README.md").read_text()
    (text,) = [block for block in re.findall(r"```toml\n(.*?)```", page, re.DOTALL) if "[text]" in block]
    (tmp_path / "mapping.toml").write_text(text)
    mapping = read_mapping(tmp_path / "mapping.toml")
    (shown,) = re.findall(r"`(2026-01-02 03:04:05,678 [^`]*)`", page)
    (tmp_path / "a.log").write_text(f"{shown}\n")
    rules, strays = Rules(mapping), StrayLines("a.log", mapping.form())
    (record,) = records(logs_of([tmp_path / "a.log"])[0], mapping, str, strays, rules.is_appended)
    assert nanoseconds(record.at("time"), mapping.stamps()[0]) % 10**9 == 678 * 10**6
    known = rules.rule_of(record)
    assert known is not None
    rule, line = known
    assert (line.at("worker"), line.at("job"), rule.delay, len(rule.either)) == ("3", "17", "1 s", 2)
    hclog = line_splitter(Text(format="hclog"))
    found = hclog("2026-01-02T03:04:05.678Z [INFO]  queue: took job: id=7")
    assert found == {
        "time": "2026-01-02T03:04:05.678Z", "level": "INFO", "logger": "queue", "message": "took job", "id": "7"
    }  # fmt: skip
    assert "`2026-01-02T03:04:05.678Z [INFO]  queue: took job: id=7`" in page


# ---- What a mapping can say ----

QUEUE = """---- MODULE Queue ----
EXTENDS Naturals, Sequences
CONSTANTS Client, Nobody
VARIABLES jobs, worker, done
Init == jobs = <<>> /\\ worker = Nobody /\\ done \\in {0, 10}
Push(m) == Len(jobs) < 3 /\\ jobs' = Append(jobs, m) /\\ UNCHANGED <<worker, done>>
Take(c) == worker = Nobody /\\ jobs # <<>> /\\ worker' = c /\\ UNCHANGED <<jobs, done>>
Finish == worker # Nobody /\\ worker' = Nobody /\\ jobs' = Tail(jobs) /\\ done' = done + Head(jobs).size
Drop == jobs # <<>> /\\ worker = Nobody /\\ jobs' = Tail(jobs) /\\ UNCHANGED <<worker, done>>
Next == \\/ \\E m \\in [by : Client, size : 1..3] : Push(m)
        \\/ (\\E c \\in Client : Take(c)) \\/ Finish \\/ Drop
Observe == [waiting |-> Len(jobs), worker |-> worker, done |-> done]
Middle == /\\ jobs \\in UNION {[1..n -> [by : Client, size : 1..3]] : n \\in 0..2}
          /\\ worker = Nobody /\\ done \\in 0..20
Little == done < 14
Alone == Len(jobs) < 2
====
"""
QUEUE_CFG = "CONSTANTS Client = {a, b}  a = a  b = b  Nobody = Nobody\nINIT Init\nNEXT Next\nINVARIANT Little\n"
CROWDED_CFG = QUEUE_CFG.replace("Little", "Alone")
BASIC = """
[lines.push]
action = "Push"
args = { m = { parts = { by = "who", size = { field = "size", optional = true } } } }
[lines.take]
action = "Take"
[lines.finish]
action = "Finish"
shows = { done = { field = "done", optional = true } }
[lines.seen]
shows = { waiting = "waiting" }
"""


@pytest.fixture(scope="module")
def queue(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., TraceVerdict]:
    folder = tmp_path_factory.mktemp("queue")
    (folder / "Queue.tla").write_text(QUEUE)
    numbers = iter(range(1000))

    def check(
        mapping: str, *files: list[Any] | str, name: str = "q{}.log", cfg: str = QUEUE_CFG, **options: Any
    ) -> TraceVerdict:
        place = folder / str(next(numbers))
        place.mkdir()
        (place / "mapping.toml").write_text(mapping)
        (place / "Queue.cfg").write_text(cfg)
        paths = []
        for number, lines in enumerate(files):
            path = place / name.format(number)
            text = lines if isinstance(lines, str) else "".join(json.dumps(line) + "\n" for line in lines)
            path.write_text(text)
            paths.append(path)
        return own_check(
            SpecFiles(folder / "Queue.tla", place / "Queue.cfg", mapping=place / "mapping.toml"), **options
        ).check_logs(paths)

    return check


def line(kind: str, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, **fields}


def test_values_that_a_line_leaves_out_are_searched_for(queue: Callable[..., TraceVerdict]) -> None:
    """The worker that takes the job, its size and the first count are left out; the end leaves one of each."""
    lines = [line("push", who="a"), line("take"), line("finish", done=13)]
    found = queue(f'kind = "kind"\n{BASIC}', lines)
    assert found.verdict is Verdict.HOLDS
    assert (found.steps, found.ambiguity and found.ambiguity.explanations) == (3, 1)
    assert queue(f'kind = "kind"\n{BASIC}', [*lines[:2], line("finish", done=14)]).verdict is Verdict.VIOLATED


def test_each_explanation_must_violate_a_property_for_a_violation_and_some_for_a_note(
    queue: Callable[..., TraceVerdict],
) -> None:
    twice = [line("push", who="a", size=3), line("push", who="a"), *[line("take"), line("finish")] * 2]
    found = queue(f'kind = "kind"\n{BASIC}', twice)
    assert (found.verdict, found.findings) == (Verdict.HOLDS, [])
    assert "LS206 note: another explanation violates Little" in found.notes
    strict = queue(f'kind = "kind"\n{BASIC}', twice, strict=True)
    assert (strict.verdict, strict.verdict.exit_code) == (Verdict.INCONCLUSIVE, 3)
    sure = queue(f'kind = "kind"\n{BASIC}', [*twice[:-1], line("finish", done=14)])
    assert sure.verdict is Verdict.VIOLATED
    (finding,) = sure.findings
    assert (finding.name, finding.line, finding.code) == ("Little", 6, "LS100")
    assert "each explanation violates Little" in sure.reason


def test_a_violation_before_a_log_ends_stands_whatever_was_lost(queue: Callable[..., TraceVerdict]) -> None:
    mapping = f'kind = "kind"\nfiles = "together"\nends = "anywhere"\n{BASIC}'
    twice = [line("push", who="a", size=3), line("push", who="a"), *[line("take"), line("finish")] * 2]
    never = [line("seen", waiting=9)]
    found = queue(mapping, [*twice[:-1], line("finish", done=14)], never)
    assert (found.verdict, found.reason) == (Verdict.VIOLATED, "each explanation violates Little")
    (finding,) = found.findings
    assert (finding.name, finding.line) == ("Little", 6)
    assert queue(mapping, [*twice[:-1], line("finish", done=6)], never).verdict is Verdict.INCONCLUSIVE


def test_hidden_steps_come_within_their_bound_and_none_without_it(queue: Callable[..., TraceVerdict]) -> None:
    lines = [line("push", who="a", size=1), line("push", who="b", size=2)]
    lines += [line("seen", waiting=2), line("seen", waiting=0)]
    assert queue(f'kind = "kind"\n{BASIC}', lines).verdict is Verdict.VIOLATED
    assert queue(f'kind = "kind"\n[hidden]\nDrop = 1\n{BASIC}', lines).verdict is Verdict.VIOLATED
    found = queue(f'kind = "kind"\n[hidden]\nDrop = 2\n{BASIC}', lines)
    assert found.verdict is Verdict.HOLDS
    assert found.ambiguity is not None
    assert found.ambiguity.hidden == {"Drop": 2}


def test_a_line_may_be_two_steps_or_one_of_several_readings(queue: Callable[..., TraceVerdict]) -> None:
    mapping = f"""kind = "kind"
{BASIC}
[lines.work]
steps = [{{ action = "Take", args = {{ c = "who" }} }}, {{ action = "Finish", shows = {{ done = "done" }} }}]
[lines.gone]
either = [{{ action = "Drop" }}, {{ steps = [{{ action = "Take" }}, {{ action = "Finish" }}] }}]
"""
    pushed = [line("push", who="a", size=2), line("push", who="a", size=3)]
    both = [*pushed, line("gone"), line("work", who="b", done=5)]
    found = queue(mapping, both)
    assert (found.verdict, found.steps) == (Verdict.HOLDS, 6)
    dropped = queue(mapping, [*pushed, line("gone"), line("work", who="b", done=3)])
    assert (dropped.verdict, dropped.steps) == (Verdict.HOLDS, 5)
    assert queue(mapping, [*pushed, line("gone"), line("work", who="b", done=4)]).verdict is Verdict.VIOLATED


def test_rules_of_one_kind_are_chosen_by_when_and_values_are_cast_and_renamed(
    queue: Callable[..., TraceVerdict],
) -> None:
    mapping = """
null = "Nobody"
otherwise = "ignore"
[[lines.job]]
when = { op = ["push", "add"] }
action = "Push"
args.m.parts.by = { field = "who", values = { "alice" = "a" } }
args.m.parts.size = { field = "size", as = "integer" }
[[lines.job]]
when = { op = "take" }
action = "Take"
args = { c = { value = "b" } }
shows = { worker = "who", waiting = { field = "left", as = "integer" } }
"""
    push = {"op": "push", "who": "alice", "size": "2"}
    take = {"op": "take", "who": "b", "left": "1"}
    found = queue(mapping, [push, {"noise": 1}, take])
    assert (found.verdict, found.events) == (Verdict.HOLDS, 2), found.reason
    assert queue(mapping, [push, take | {"left": "2"}]).verdict is Verdict.VIOLATED
    wrong = queue(mapping, [push | {"size": "two"}])
    assert (wrong.verdict, wrong.reason.partition(": ")[2]) == (Verdict.MALFORMED, "field `size`: 'two' is no integer")
    assert queue(mapping, [{"noise": 1}]).verdict is Verdict.INCONCLUSIVE


def test_a_word_that_is_no_model_value_of_the_cfg_is_malformed_and_no_violation(
    queue: Callable[..., TraceVerdict],
) -> None:
    mapping = f'kind = "kind"\n{BASIC.replace("[lines.take]", "[lines.take]" + chr(10) + "args = { c = chr }")}'
    mapping = mapping.replace("c = chr", 'c = "who"')
    found = queue(mapping, [line("push", who="a", size=1), line("take", who="eve")])
    assert found.verdict is Verdict.MALFORMED
    assert found.reason.endswith('q0.log:2: `c`: "eve" is none of the model values a, b')


def test_a_value_of_another_kind_than_the_spec_has_is_malformed_and_no_violation(
    queue: Callable[..., TraceVerdict],
) -> None:
    mapping = f'kind = "kind"\n{BASIC}\n[lines.full]\naction = "Push"\nargs = {{ m = "m" }}\n'
    mapping += '[lines.any]\neither = [{ action = "Push", args = { m = "m" } }, { shows = { waiting = "m" } }]\n'
    found = queue(mapping, [line("push", who="a", size=1), line("full", m=7)])
    assert (found.verdict, found.reason.partition("q0.log:")[2][:6]) == (Verdict.MALFORMED, "2: `m`")
    assert queue(mapping, [line("push", who="a", size=1), line("any", m=1)]).verdict is Verdict.HOLDS
    assert queue(mapping, [line("push", who="a", size=1), line("any", m=2)]).verdict is Verdict.VIOLATED


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('format = "logfmt"', ["level=INFO msg=push who=a size=2", 'level=INFO msg="take"', "msg=finish done=2"]),
        (
            'format = "hclog"',
            [
                "2026-01-02T03:04:05.678Z [INFO]  queue: push: who=a size=2",
                "2026-01-02T03:04:05.679+0000 [DEBUG] take",
                "2026-01-02T03:04:05.680Z [WARN]  queue.worker: finish: done=2",
            ],
        ),
        (
            "format = \"logback\"\npattern = '%d{yyyy-MM-dd HH:mm:ss,SSS} %-5level [%thread] %logger{36} - %msg%n'",
            [
                "2026-01-02 03:04:05,678 INFO  [main] o.q.Queue - push who=a size=2",
                "2026-01-02 03:04:05,679 WARN  [w 1] o.q.Worker - take",
                "2026-01-02 03:04:05,680 DEBUG [w 1] o.q.Worker - finish done=2",
            ],
        ),
        (
            "format = \"regex\"\n"
            "pattern = '(?P<message>\\S+)(?: who=(?P<who>\\w+) size=(?P<size>\\d))?(?: done=(?P<done>\\d+))?'",
            ["push who=a size=2", "take", "finish done=2"],
        ),
    ],
    ids=["logfmt", "hclog", "logback", "regex"],
)  # fmt: skip
def test_lines_of_text_are_read(text: str, lines: list[str], queue: Callable[..., TraceVerdict]) -> None:
    mapping = f"""otherwise = "ignore"
[text]
{text}
[lines.push]
match = {{ FIELD = '^push(?: who=(?P<who>\\w+) size=(?P<size>\\d))?' }}
action = "Push"
args = {{ m = {{ parts = {{ by = "who", size = {{ field = "size", as = "integer" }} }} }} }}
[lines.take]
match = {{ FIELD = '^take' }}
action = "Take"
[lines.finish]
match = {{ FIELD = '^finish(?: done=(?P<done>\\d+))?' }}
action = "Finish"
shows = {{ done = {{ field = "done", as = "integer" }} }}
""".replace("FIELD", "msg" if "logfmt" in text else "message")
    written = "".join(f"{line}\n" for line in [*lines[:2], "    at org.queue.Worker(Worker.java:7)", lines[2]])
    found = queue(mapping, written)
    assert (found.verdict, found.steps) == (Verdict.HOLDS, 3), found.reason
    wrong = queue(mapping, written.replace("done=2", "done=1"))
    assert wrong.verdict is Verdict.VIOLATED
    strict = mapping.replace('otherwise = "ignore"\n', "")
    assert queue(strict, written).verdict is Verdict.HOLDS
    stray = queue(strict, f"hello there\n{written}")
    assert stray.verdict is Verdict.HOLDS
    assert any(
        "1 line was skipped as noise, not in the log's form" in note and "q0.log:1: 'hello there'" in note
        for note in stray.notes
    )
    assert queue(strict, "hello there\n").verdict is Verdict.MALFORMED


def test_the_lines_of_an_exception_are_a_field_of_the_line_above(queue: Callable[..., TraceVerdict]) -> None:
    mapping = """[text]
format = "logback"
pattern = "%d %p %c - %m%n"
[lines.push]
match = { message = "push", below = "^q[.]FullException: by (?P<who>\\\\w+) of (?P<size>\\\\d)" }
action = "Push"
args = { m = { parts = { by = "who", size = { field = "size", as = "integer" } } } }
[lines.take]
match = { message = "take" }
action = "Take"
[lines.finish]
match = { message = "finish", below = "done (?P<done>\\\\d)" }
action = "Finish"
shows = { done = { field = "done", as = "integer" } }
"""
    log = """2026-01-02 03:04:05,678 INFO Q - push
q.FullException: by a of 2
\tat q.Queue.push(Queue.java:1)
2026-01-02 03:04:05,679 INFO Q - take
2026-01-02 03:04:05,680 INFO Q - finish
  done 2
"""
    found = queue(mapping, log)
    assert (found.verdict, found.steps) == (Verdict.HOLDS, 3), found.reason
    assert queue(mapping, log.replace("done 2", "done 1")).verdict is Verdict.VIOLATED
    assert queue(mapping, log.replace("q.Full", "hello q.Full")).verdict is Verdict.MALFORMED


HCLOG_PUSH = "2026-01-02T03:04:05.678Z [INFO]  queue: push: who=a size=2"
HCLOG_TAKE = "2026-01-02T03:04:05.700Z [INFO]  queue: take"


def test_lines_of_json_and_of_several_forms_of_text_are_read_beside_each_other(
    queue: Callable[..., TraceVerdict],
) -> None:
    mapping = f"""kind = ["kind", "message"]
files = "together"
time = ["at", {{ field = "time" }}]
{BASIC}
[[text]]
format = "hclog"
[[text]]
format = "regex"
pattern = '(?P<time>\\S+) (?P<kind>finish) (?P<done>\\d+)'
""".replace('field = "done",', 'field = "done", as = "integer",').replace(
        'field = "size",', 'field = "size", as = "integer",'
    )
    push = {"kind": "push", "at": "2026-01-02T03:04:05.500Z", "who": "b", "size": 1}
    finish = "2026-01-02T03:04:05.800Z finish 1"
    found = queue(mapping, f"{json.dumps(push)}\n{HCLOG_PUSH}\n", f"{HCLOG_TAKE}\n{finish}\n")
    assert (found.verdict, found.steps) == (Verdict.HOLDS, 4), found.reason
    wrong = queue(mapping, f"{json.dumps(push)}\n{HCLOG_PUSH}\n", f"{HCLOG_TAKE}\n{finish[:-1]}2\n")
    assert wrong.verdict is Verdict.VIOLATED
    neither = queue(mapping, '{"kind": "push", "at"\n')
    assert neither.verdict is Verdict.MALFORMED
    assert "q0.log:1: the line is not of the form of the log" in neither.reason
    lacking = queue(mapping, '{"sort": "push", "who": "a"}\n')
    assert lacking.reason.endswith("q0.log:1: field `kind` or `message`: missing; the line has sort, who")


def test_a_long_word_in_a_line_of_logfmt_takes_no_time(queue: Callable[..., TraceVerdict]) -> None:
    mapping = f'kind = "kind"\notherwise = "ignore"\n{BASIC}\n[text]\nformat = "logfmt"\n'
    long = "a" * 1_000_000  # if each letter began the search anew, some 500 billion steps
    found = queue(mapping, f"kind=push who=a {long}\n")
    assert found.verdict is Verdict.HOLDS


def test_rotated_and_packed_files_are_one_log(queue: Callable[..., TraceVerdict], tmp_path: Path) -> None:
    (tmp_path / "Queue.tla").write_text(QUEUE)
    (tmp_path / "Queue.cfg").write_text(QUEUE_CFG)
    (tmp_path / "mapping.toml").write_text(f'kind = "kind"\nfiles = "together"\n{BASIC}')
    lines = [line("push", who="a", size=2), line("push", who="b", size=3), line("take"), line("finish", done=2)]
    texts = ["".join(json.dumps(each) + "\n" for each in part) for part in (lines[:1], lines[1:2], lines[2:])]
    (tmp_path / "app.log.2.gz").write_bytes(gzip.compress(texts[0].encode()))
    (tmp_path / "app.log.1").write_text(texts[1])
    (tmp_path / "app.log").write_text(texts[2])
    judge = own_check(SpecFiles(tmp_path / "Queue.tla", mapping=tmp_path / "mapping.toml"))
    found = judge.check_logs(sorted(tmp_path.glob("app.log*")))
    assert (found.verdict, found.steps) == (Verdict.HOLDS, 4), found.reason
    (tmp_path / "app.log").write_text(texts[2].replace("2}", "3}"))
    (finding,) = judge.check_logs(sorted(tmp_path.glob("app.log*"))).findings
    assert (Path(finding.source).name, finding.line) == ("app.log", 2)
    (tmp_path / "app.log.1").write_text(texts[1] + '{"kind": "ta')
    torn = judge.check_logs(sorted(tmp_path.glob("app.log*")))
    assert torn.verdict is Verdict.MALFORMED
    assert "app.log.1:2: the last line does not end, though" in torn.reason
    damaged = (tmp_path / "app.log.2.gz").read_bytes()[:-12]
    (tmp_path / "app.log.2.gz").write_bytes(damaged)
    assert judge.check_logs(sorted(tmp_path.glob("app.log*"))).verdict is Verdict.MALFORMED


def test_a_log_may_begin_in_the_middle_where_a_predicate_of_the_spec_says(queue: Callable[..., TraceVerdict]) -> None:
    lines = [line("take"), line("finish", done=9), line("take"), line("finish", done=11), line("seen", waiting=0)]
    assert queue(f'kind = "kind"\n{BASIC}', lines).verdict is Verdict.VIOLATED
    found = queue(f'kind = "kind"\nstart = "Middle"\n{BASIC}', lines)
    assert (found.verdict, found.steps) == (Verdict.HOLDS, 4), found.reason
    assert queue(f'kind = "kind"\nstart = "Middle"\n{BASIC}', [*lines[:-1], line("seen", waiting=1)]).verdict is (
        Verdict.VIOLATED
    )


def test_a_property_that_fails_where_a_log_begins_in_the_middle_fails_for_good(
    queue: Callable[..., TraceVerdict],
) -> None:
    mapping = f'kind = "kind"\nstart = "Middle"\n{BASIC}[lines.all]\nshows = {{ done = "done" }}\n'
    found = queue(mapping, [line("all", done=20)])
    assert (found.verdict, found.reason) == (Verdict.VIOLATED, "each explanation violates Little")
    (finding,) = found.findings
    assert (finding.name, finding.action, finding.line) == ("Little", "Init", 0)
    assert queue(mapping, [line("all", done=13)]).verdict is Verdict.HOLDS


def test_an_explanation_that_fails_a_property_is_reported_though_another_ends_in_the_same_state(
    queue: Callable[..., TraceVerdict],
) -> None:
    """In the end both jobs are gone; that the first one went before the second one came is not sure."""
    mapping = """kind = "kind"
[hidden]
Drop = 2
[lines.push]
action = "Push"
args = { m = { parts = { by = "who", size = "size" } } }
[lines.dropped]
shows = { waiting = "waiting" }
"""
    pushed = [line("push", who="a", size=1), line("push", who="a", size=1)]
    found = queue(mapping, [*pushed, line("dropped", waiting=0)], cfg=CROWDED_CFG)
    assert (found.verdict, found.findings) == (Verdict.HOLDS, [])
    assert "LS206 note: another explanation violates Alone" in found.notes
    strict = queue(mapping, [*pushed, line("dropped", waiting=0)], cfg=CROWDED_CFG, strict=True)
    assert (strict.verdict, strict.verdict.exit_code) == (Verdict.INCONCLUSIVE, 3)


def test_two_logs_are_put_in_order_by_their_stamps_and_by_what_is_sent(queue: Callable[..., TraceVerdict]) -> None:
    mapping = """kind = "kind"
files = "together"
time = { field = "at", unit = "ms" }
skew = "2 ms"
[lines.push]
action = "Push"
args = { m = { parts = { size = "size" } } }
sends = { field = "id", optional = true }
[lines.take]
action = "Take"
receives = { field = "id", optional = true }
"""
    pushed = [line("push", at=10, size=1)]
    assert queue(mapping, pushed, [line("take", at=9)]).verdict is Verdict.HOLDS
    assert queue(mapping, pushed, [line("take", at=7)]).verdict is Verdict.VIOLATED
    several = [line("push", at=10, size=1, id="x"), line("push", at=50, size=2, id="y")]
    taken = [line("take", at=11, id="x")]
    assert queue(mapping, several, taken).verdict is Verdict.HOLDS
    unknown = queue(mapping, several, [line("take", at=60, id="z")])
    assert unknown.verdict is Verdict.MALFORMED
    assert unknown.reason.partition(": ")[2].startswith("no line sends 'z'; if lines are missing, declare it: `start`")


def test_iso_stamps_count_to_the_nanosecond(queue: Callable[..., TraceVerdict]) -> None:
    mapping = f'kind = "kind"\nfiles = "together"\ntime = "ts"\n{BASIC}'
    push = line("push", who="a", size=1, ts="2026-01-02T03:04:05.000000002Z")
    early, late = (line("take", ts=f"2026-01-02T04:04:05.{digits}+01:00") for digits in ("000000001", "000000003"))
    assert queue(mapping, [push], [late]).verdict is Verdict.HOLDS
    assert queue(mapping, [push], [early]).verdict is Verdict.VIOLATED
    wrong = queue(mapping, [push | {"ts": "yesterday"}])
    assert (wrong.verdict, wrong.reason.partition(": ")[2]) == (Verdict.MALFORMED, "field `ts`: 'yesterday' is no time")


def test_an_action_that_chooses_is_searched_for_though_each_line_shows_all(
    queue: Callable[..., TraceVerdict], tmp_path: Path
) -> None:
    (tmp_path / "Dice.tla").write_text(
        "---- MODULE Dice ----\nEXTENDS Naturals\nVARIABLE face\nInit == face = 1\n"
        "Roll == face' \\in 1..6\nNext == Roll\n====\n"
    )
    (tmp_path / "Dice.cfg").write_text("INIT Init\nNEXT Next\n")
    (tmp_path / "mapping.toml").write_text('kind = "k"\n[lines.roll]\naction = "Roll"\nshows = { face = "face" }\n')
    (tmp_path / "dice.log").write_text('{"k": "roll", "face": 3}\n{"k": "roll", "face": 6}\n')
    judge = own_check(SpecFiles(tmp_path / "Dice.tla", mapping=tmp_path / "mapping.toml"))
    assert judge(tmp_path / "dice.log").verdict is Verdict.HOLDS
    (tmp_path / "dice.log").write_text('{"k": "roll", "face": 3}\n{"k": "roll", "face": 7}\n')
    assert judge(tmp_path / "dice.log").verdict is Verdict.VIOLATED


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (('action = "Take"', 'action = "Tak"'), "8: field `lines.take.action`: the spec has no action 'Tak'; did"),
        (("{ m = {", "{ k = {"), "6: field `lines.push.args.k`: Push has no such parameter"),
        (("[lines.push]", "[hidden]\nDrup = 1\n[lines.push]"), "5: field `hidden.Drup`: the spec has no action 'Drup'"),
        (("[lines.push]", "[hidden]\nDrop = 0\n[lines.push]"), "5: field `hidden.Drop`: it should be an integer"),
        (("optional", "optoinal"), "6: field `lines.push.args.m.parts.size.optoinal`: unknown field; did you"),
        (('kind = "kind"', 'kind = "kind"\nskew = "2 ms"'), "2: field `skew`: it means nothing without `time`"),
        (
            ('kind = "kind"', 'kind = "kind"\nskew = "soon"'),
            '2: field `skew`: it should be a number and ns, us, ms, s or min, as "5 ms", not "soon"',
        ),
        (("[lines.push]", '[hidden]\nDrop = "1"\n[lines.push]'), "5: field `hidden.Drop`: it should be an"),
        (
            ('action = "Push"', 'action = "Push"\nshows = { done = { field = "d", as = "int" } }'),
            '6: field `lines.push.shows.done.as`: it should be "boolean", "integer", "set" or "string", not "int"; did'
            " you mean integer?",
        ),
        (('kind = "kind"', 'kind = "kind"\nfiles = "togethr"'), '"apart" or "together", not "togethr"; did you mean'),
        (('kind = "kind"', "kind = 3"), "1: field `kind`: it should be a string or a list, not 3"),
        (('kind = "kind"', 'kind = ["kind", 3]'), "1: field `kind[1]`: it should be a string, not 3"),
        (('kind = "kind"', 'kind = "kind"\n[codes]\nLittle = "X1"'), "3: field `codes.Little`: it should be two to"),
        (('kind = "kind"', 'kind = "kind"\nkind = "sort"'), "2: it is no TOML: Cannot overwrite a value"),
        (("[lines.take]", "[lines.take"), "7: it is no TOML: "),
        (
            ('kind = "kind"', 'kind = "kind"\ntime = { field = "t", format = "%Q" }'),
            "2: field `time.format`: no form of a time: 'Q' is a bad directive in format '%Q'",
        ),
        (
            ('kind = "kind"', 'kind = "kind"\ntime = { field = "t", format = "%H", unit = "s" }'),
            "2: field `time`: give `unit` of a number or",
        ),
        (('kind = "kind"', ""), "4: field `lines.push`: without `kind` for all lines"),
        (('action = "Push"', ""), "4: field `lines.push`: the `args` are of no `action`"),
        (('action = "Take"', 'ignore = true\nsends = "id"'), "7: field `lines.take`: what is ignored neither sends"),
        (
            ('action = "Take"', 'either = [{ steps = [{ action = "Take" }], shows = { done = "d" } }]'),
            "8: field `lines.take.either[0]`: give either",
        ),
        (('action = "Take"', "steps = []"), "7: field `lines.take`: give one of"),
        (('action = "Take"', "match = { x = '(' }\naction = \"Take\""), "8: field `lines.take.match.x`: no regular"),
        (('kind = "kind"', 'kind = "kind"\nstart = "Midle"'), "2: field `start`: the spec defines no predicate"),
        (('kind = "kind"', 'kind = "kind"\norder = "node"'), "2: field `order`: the lines have no `node`"),
        (
            ("shows = { done =", "shows = { doen ="),
            "11: field `lines.finish.shows.doen`: the spec's Observe shows no such field; did you mean done?",
        ),
        (('kind = "kind"', 'kind = "kind"\nnull = "Nobudy"'), "2: field `null`: the cfg has no constant 'Nobudy'"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_mapping_is_reported_with_its_line_before_any_log_is_read(
    change: tuple[str, str], place: str, queue: Callable[..., TraceVerdict]
) -> None:
    text = f'kind = "kind"\n\n{BASIC}'
    assert change[0] in text
    with pytest.raises(MappingError) as caught:
        queue(text.replace(*change), [line("take")])
    said = str(caught.value)
    assert place in said
    assert re.search(r"mapping\.toml:\d+: ", said)
    if place[0].isdigit():
        assert f"mapping.toml:{place}" in said


def test_a_mapping_is_refused_exactly_where_msgspec_refuses_it() -> None:
    """Mappings with one value replaced by one of another kind: both checks of types agree on each."""
    tree = tomllib.loads(f"""kind = "kind"\ntime = {{ field = "t", unit = "s" }}\nskew = "1 s"\n{BASIC}
[hidden]
Drop = 2
[[text]]
format = "hclog"
""")
    values: list[Any] = [3, 0, 101, -1, 2.5, True, "x", "5 ms", "s", "hclog", [], ["x"], [3], {}, {"field": "x"}]
    refused = Counter[bool]()
    for path in places_in(tree):
        for value in values:
            changed = copy.deepcopy(tree)
            holder: Any = changed
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] = value
            found = first_misfit(changed, Mapping)
            try:
                msgspec.convert(changed, Mapping)
            except msgspec.ValidationError:
                assert found is not None, (path, value)
                refused[True] += 1
            else:
                assert found is None, (path, value, found)
                refused[False] += 1
    assert min(refused.values()) > 50


def places_in(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all parts of a tree."""
    parts = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from places_in(part, (*path, key))


# ---- Values and logs that cannot be used ----

TWO = """kind = "kind"
files = "together"
time = { field = "at", unit = "ms" }
[lines.push]
action = "Push"
sends = { field = "id", optional = true }
[lines.take]
action = "Take"
args = { c = { field = "who", as = "integer", optional = true } }
receives = { field = "id", optional = true }
"""


@pytest.mark.parametrize("name", [None, True, {"a": 1}, [1]])
def test_a_message_id_that_is_no_string_or_integer_is_reported_with_its_line(
    name: Any, queue: Callable[..., TraceVerdict]
) -> None:
    found = queue(TWO, [line("push", at=1, id=name)], [line("take", at=2, id=1)])
    assert found.verdict is Verdict.MALFORMED
    assert found.reason.partition("q0.log:")[2].startswith("1: `sends`: a message is named by a string or an integer")


def test_a_message_that_is_sent_twice_is_reported_with_both_lines(queue: Callable[..., TraceVerdict]) -> None:
    found = queue(TWO, [line("push", at=1, id="x")], [line("push", at=2, id="x")])
    assert re.search(r"q1\.log:1: 'x' was sent before, at \S+q0\.log:1$", found.reason)


def test_a_clock_that_jumps_back_is_named_with_a_way_out(queue: Callable[..., TraceVerdict]) -> None:
    back = [line("push", at=10), line("push", at=90), line("take", at=20)]
    found = queue(TWO, back, [line("take", at=50)])
    assert found.verdict is Verdict.MALFORMED
    assert "no order of the lines is possible" in found.reason
    assert "q0.log:3 the clock jumps back by 70 ms, and `skew` is less; make it greater, or give no" in found.reason
    larger = queue(TWO.replace("[lines.push]", 'skew = "70 ms"\n[lines.push]', 1), back, [line("take", at=50)])
    assert larger.verdict is not Verdict.MALFORMED


def test_a_number_that_is_too_long_is_no_word(queue: Callable[..., TraceVerdict]) -> None:
    found = queue(TWO, [line("push", at=1), line("take", at=2, who="9" * 5000)])
    assert found.reason.endswith("q0.log:2: field `who`: a number of 5,000 digits is too long")
    word = queue(TWO, [line("push", at=1), line("take", at=2, who="x" * 5000)])
    assert word.reason.endswith("xx... is no integer")


def test_a_report_for_a_ci_has_the_notes(queue: Callable[..., TraceVerdict]) -> None:
    found = queue(f'kind = "kind"\n{BASIC}', f'{json.dumps(line("push", who="a", size=1))}\n{{"kind": "ta')
    assert "<system-out>" in junit_xml([found])
    assert "q0.log:2: the last line does not end" in junit_xml([found])


def test_the_line_of_a_field_is_found_in_tables_arrays_and_dotted_keys() -> None:
    text = 'a.b = 1\n[lines."x y"]\nc = { d = 2 }\n[[lines.z]]\nc = 1\n[[lines.z]]\nc = 2\n'
    assert line_of(text, "a.b") == 1
    assert line_of(text, "lines.x y.c.d") == 3
    assert line_of(text, "lines.z[0].c") == 5
    assert line_of(text, "lines.z[1].c.e") == 7
    assert line_of(text, "nothing") is None


def test_no_line_of_text_makes_the_reader_fail(queue: Callable[..., TraceVerdict]) -> None:
    chance = random.Random(3)
    for form in ('format = "logfmt"', 'format = "hclog"', "format = \"logback\"\npattern = '%d %p %c - %m%n'"):
        mapping = (
            f'otherwise = "ignore"\n[text]\n{form}\n[lines.take]\nmatch = {{ message = "take" }}\naction = "Take"\n'
        )
        text = "".join("".join(chance.choices('ab=" \\[]:-%{}\t', k=30)) + "\n" for _ in range(200))
        assert queue(mapping, text).verdict is Verdict.INCONCLUSIVE
