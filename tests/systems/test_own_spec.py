"""A reader's own spec, its exploration by two engines, and the log of the system it describes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lockstep.base.package_data import spec_dir
from lockstep.cli.command_line import cli
from tests.support.programs.lockstep_command import lockstep
from tests.support.sampling import sampled

LOCK_SERVICE = spec_dir().parent / "docs" / "lock_service"
SPEC, MAPPING = LOCK_SERVICE / "LockService.tla", LOCK_SERVICE / "mapping.toml"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(each) for each in arguments], standalone_mode=False)


def service_log(folder: Path, *options: str) -> Path:
    """Run the lock service of the docs and keep its log."""
    program = [sys.executable, str(LOCK_SERVICE / "lock_service.py"), *options]
    log = folder / "service.log"
    log.write_bytes(subprocess.run(program, capture_output=True, check=True).stdout)
    return log


def check(log: Path, mapping: Path = MAPPING, spec: Path = SPEC) -> tuple[int, dict[str, object]]:
    found = run("check", "--spec", spec, "--mapping", mapping, "--format", "json", log)
    (verdict,) = json.loads(found.stdout)
    return found.return_value, verdict


def test_the_lock_service_does_what_its_spec_says(tmp_path: Path) -> None:
    code, verdict = check(service_log(tmp_path))
    assert (code, verdict["verdict"], verdict["events"], verdict["observed"]) == (0, "holds", 200, 600)


def test_a_token_that_is_used_twice_is_found_at_its_line_with_both_values(tmp_path: Path) -> None:
    log = service_log(tmp_path, "--forgetful")
    code, verdict = check(log)
    (finding,) = verdict["findings"]  # type: ignore[misc]  # JSON
    assert (code, finding["action"], finding["name"]) == (1, "Leave", "token")
    line = json.loads(log.read_text().splitlines()[finding["line"] - 1])
    assert line["what"] == "gone"
    assert finding["details"] == [f"token: the trace shows {line['state']['token']}, the spec says 11"]


def test_a_step_the_spec_does_not_have_is_explained(tmp_path: Path) -> None:
    log = tmp_path / "service.log"
    state = {"owner": None, "waiting": [], "token": 0}
    log.write_text(json.dumps({"what": "unlocked", "client": "a", "state": state}) + "\n")
    code, verdict = check(log)
    (finding,) = verdict["findings"]  # type: ignore[misc]  # JSON
    assert (code, finding["kind"], finding["action"]) == (1, "step", "Unlock")
    assert "queue # << >>" in finding["details"][0]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"what": "stolen"}', "field `what`: the mapping has no lines of kind 'stolen'"),
        ('{"who": "a"}', "field `what`: missing"),
        ('{"what": "locked", "state": {}}', "field `client`: missing"),
        ('{"what": "locked", "client": "a", "state": 3}', "field `state`: it is no object"),
        ('{"what": "locked", "client": "a", "state": {"shade": 3}}', "field `shows.shade`: the spec shows"),
        ('{"what": "locked", "client": 1e400, "state": {}}', "not a line of a log"),
        ("[1]", "not a line of a log: it is no JSON object"),
        ("{", "not a line of a log: "),
    ],
)
def test_a_line_that_cannot_be_mapped_is_malformed_by_line_and_field(line: str, problem: str, tmp_path: Path) -> None:
    log = tmp_path / "service.log"
    log.write_text('{"what": "started"}\n' + line + "\n")
    code, verdict = check(log)
    assert (code, verdict["verdict"]) == (2, "malformed")
    assert str(verdict["reason"]).startswith(f"{log}:2: ")
    assert problem in str(verdict["reason"])


def test_the_torn_last_line_of_a_log_is_noted_and_left_out(tmp_path: Path) -> None:
    log = service_log(tmp_path)
    log.write_bytes(log.read_bytes()[:-5])
    code, verdict = check(log)
    assert (code, verdict["events"]) == (0, 199)
    assert verdict["notes"] == [f"note: {log}:201: the last line does not end, and is left out"]


def test_a_log_without_a_step_is_no_pass(tmp_path: Path) -> None:
    log = tmp_path / "service.log"
    log.write_text('{"what": "started"}\n')
    code, verdict = check(log)
    assert (code, verdict["verdict"]) == (3, "inconclusive")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (('action = "Lock"', "ignore = false"), "field `lines.locked`"),
        (('kind = "what"', 'sort = "what"'), "sort"),
        (('null = "NoClient"', 'null = "Nobody"'), "field `null`: the cfg has no constant 'Nobody'"),
        (('null = "NoClient"', 'observe = "Show"'), "field `observe`: the spec does not define 'Show'"),
        (("[lines.started]", '[codes]\nTypoOK = "LK1"\n[lines.started]'), "field `codes.TypoOK`: the cfg has no such"),
        (("[lines.started]", '[codes]\nTypeOK = "LS1"\n[lines.started]'), "field `codes"),
    ],
)
def test_a_mapping_that_cannot_be_used_names_its_field(change: tuple[str, str], problem: str, tmp_path: Path) -> None:
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(MAPPING.read_text().replace(*change))
    found = lockstep("check", "--spec", SPEC, "--mapping", mapping, service_log(tmp_path), cwd=tmp_path)
    assert found.returncode == 2
    assert problem in found.stderr


COUNTER = """---- MODULE Counter ----
EXTENDS Integers
VARIABLE x
Init == x = 0
Crash(d) == x' = x - d
Observe == x < 5 /\\ x' = x + 1
Next == (\\E d \\in 1..9 : Crash(d)) \\/ Observe
TypeOK == x > -5
Shown == [count |-> x]
====
"""


def counter(folder: Path, codes: str = "") -> tuple[int, dict[str, object]]:
    """Check a log of a spec whose names are those of another system: TypeOK, Crash, even Observe."""
    (folder / "Counter.tla").write_text(COUNTER.replace("\\\\", "\\"))
    (folder / "Counter.cfg").write_text("INIT Init\nNEXT Next\nINVARIANT TypeOK\n")
    lines = '[lines.down]\naction = "Crash"\nargs = { d = "by" }\nshows = { count = "at" }\n'
    lines += '[lines.up]\naction = "Observe"\nshows = { count = "at" }\n'
    (folder / "mapping.toml").write_text(f'kind = "is"\nobserve = "Shown"\n{codes}{lines}')
    log = folder / "counter.log"
    log.write_text('{"is":"down","by":2,"at":-2}\n{"is":"up","at":-1}\n{"is":"down","by":4,"at":-5}\n')
    return check(log, folder / "mapping.toml", folder / "Counter.tla")


def test_a_property_of_the_reader_s_own_spec_is_not_taken_for_one_of_a_known_system(tmp_path: Path) -> None:
    code, verdict = counter(tmp_path)
    (finding,) = verdict["findings"]  # type: ignore[misc]  # JSON
    assert (code, finding["code"], finding["name"], finding["line"]) == (1, "LS100", "TypeOK", 3)
    assert finding["reference_line"] == ""
    assert (verdict["steps"], verdict["observed"]) == (3, 3)


def test_a_mapping_gives_properties_codes_of_their_own(tmp_path: Path) -> None:
    _, verdict = counter(tmp_path, '[codes]\nTypeOK = "CN101"\n')
    (finding,) = verdict["findings"]  # type: ignore[misc]  # JSON
    assert finding["code"] == "CN101"


def own_trace(folder: Path, *events: dict[str, object]) -> Path:
    """Write a trace of the lock service in our own format."""
    header = {"kind": "header", "format": "lockstep-trace/1", "system": "locks", "version": "1"}
    header |= {"spec": "LockService", "nodes": ["a", "b", "c"], "constants": {}}
    numbered = [{"kind": "event", "seq": number, **event} for number, event in enumerate(events)]
    path = folder / "own.trace.ndjson"
    lines = [header, *numbered, {"kind": "end", "events": len(events)}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_trace_in_our_format_needs_no_mapping_and_its_node_may_be_a_model_value(tmp_path: Path) -> None:
    trace = own_trace(
        tmp_path,
        {"node": "a", "action": "Lock", "shows": {"owner": "a", "token": 1}},
        {"node": "b", "action": "Lock", "shows": {"waiting": ["b"]}},
        {"node": "a", "action": "Unlock", "shows": {"owner": "b", "token": 1}},
    )
    found = run("check", "--spec", SPEC, "--format", "json", trace)
    (verdict,) = json.loads(found.stdout)
    (finding,) = verdict["findings"]
    assert (found.return_value, verdict["observed"], finding["name"], finding["seq"]) == (1, 5, "token", 2)
    assert finding["details"] == ["token: the trace shows 1, the spec says 2"]


@pytest.mark.parametrize(
    ("engine", "upto"),
    [("compiled", 1), ("compiled", 2), *(pytest.param("tlc", upto, marks=pytest.mark.nightly) for upto in (1, 2))],
)
def test_arguments_may_name_the_first_parameter_where_that_is_no_node(engine: str, upto: int, tmp_path: Path) -> None:
    head = {"kind": "header", "format": "lockstep-trace/1", "system": "s", "version": "1", "spec": "PrimaryBackup"}
    steps = [
        {"node": "p", "action": "Put", "shows": {"entries": 1}},
        *({"node": backup, "action": "Store", "shows": {"entries": 1}} for backup in ("b1", "b2")),
        *({"node": "p", "action": "Acknowledge", "args": {"b": backup, "n": 1}} for backup in ("b1", "b2")),
        {"node": "p", "action": "Commit", "args": {"n": upto}, "shows": {"entries": 1, "committed": upto}},
    ]
    events = [{"kind": "event", "seq": seq, **step} for seq, step in enumerate(steps)]
    lines = [{**head, "nodes": ["p", "b1", "b2"], "constants": {}}, *events, {"kind": "end", "events": len(events)}]
    trace = tmp_path / "commit.trace.ndjson"
    trace.write_text("".join(json.dumps(line) + "\n" for line in lines))
    spec = LOCK_SERVICE.parent / "own_logs" / "PrimaryBackup.tla"
    found = run("check", "--engine", engine, "--spec", spec, "--format", "json", trace)
    (verdict,) = json.loads(found.stdout)
    assert (verdict["verdict"], verdict["steps"]) == (("holds", 6) if upto == 1 else ("violated", 5))


def test_an_observation_of_no_node_is_malformed_where_the_spec_observes_nodes(tmp_path: Path) -> None:
    spec = tmp_path / "LockService.tla"
    spec.write_text(SPEC.read_text().replace("Observe ==", "Observe(n) =="))
    spec.with_suffix(".cfg").write_text(SPEC.with_suffix(".cfg").read_text())
    found = lockstep("check", "--spec", spec, "--mapping", MAPPING, service_log(tmp_path), cwd=tmp_path)
    assert found.returncode == 2
    assert f"{MAPPING}:11: field `lines.locked.shows`: the spec's Observe takes a node" in found.stderr


def test_variables_are_compared_by_name_where_the_spec_has_no_observe(tmp_path: Path) -> None:
    spec = tmp_path / "LockService.tla"
    text = SPEC.read_text()
    spec.write_text(text.replace("Observe ==", "Seen =="))
    spec.with_suffix(".cfg").write_text(SPEC.with_suffix(".cfg").read_text())
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(MAPPING.read_text().replace('shows = "state"', 'shows = { token = "state.token" }'))
    code, verdict = check(service_log(tmp_path), mapping, spec)
    assert (code, verdict["observed"]) == (0, 200)
    code, verdict = check(service_log(tmp_path, "--forgetful"), mapping, spec)
    assert code == 1


@pytest.mark.parametrize("engine", ["tlc", "compiled"])
def test_both_engines_say_the_same_of_a_spec(engine: str, tmp_path: Path) -> None:
    found = run("model", "--spec", SPEC, "--engine", engine, "--format", "json")
    result = json.loads(found.stdout)
    assert (found.return_value, result["verdict"]) == (0, "holds")
    assert (result["distinct"], result["generated"], result["depth"]) == (49, 193, 8)
    assert result["engine"] == engine
    broken = tmp_path / "LockService.tla"
    broken.write_text(SPEC.read_text().replace("token + 1", "token"))
    found = run("model", "--spec", broken, "--cfg", SPEC.with_suffix(".cfg"), "--engine", engine, "--format", "json")
    result = json.loads(found.stdout)
    assert (found.return_value, result["property"]) == (1, "TokenRisesProp")
    assert [step["action"] for step in result["counterexample"]] == ["Init", "Lock"]


@pytest.mark.parametrize("engine", sampled(["tlc", "compiled"], ["compiled"]))
def test_a_spec_with_an_error_is_malformed_and_named(engine: str, tmp_path: Path) -> None:
    broken = tmp_path / "LockService.tla"
    broken.write_text(SPEC.read_text().replace("Init == queue", "Init == cue"))
    cfg = SPEC.with_suffix(".cfg")
    found = lockstep("model", "--engine", engine, "--spec", broken, "--cfg", cfg, cwd=tmp_path)
    assert found.returncode == 2
    assert "LockService" in found.stdout + found.stderr
    assert "cue" in found.stdout + found.stderr


def test_liveness_is_noted_as_unchecked_for_traces_and_checked_by_the_compiled_engine(tmp_path: Path) -> None:
    cfg = tmp_path / "Live.cfg"
    spec = tmp_path / "LockService.tla"
    spec.write_text(SPEC.read_text().replace("FewTokens ==", "Served == <>(queue # << >>)\nFewTokens =="))
    cfg.write_text(SPEC.with_suffix(".cfg").read_text() + "PROPERTY Served\n")
    found = run("model", "--spec", spec, "--cfg", cfg, "--engine", "compiled", "--format", "json")
    result = json.loads(found.stdout)
    assert (found.return_value, result["reason"], result["back_to"]) == (1, "temporal property Served is violated", 1)
    log = service_log(tmp_path)
    noted = lockstep("check", "--spec", spec, "--cfg", cfg, "--mapping", MAPPING, log, cwd=tmp_path)
    assert noted.returncode == 0
    assert "\nnote: the PROPERTY Served (LockService.tla:" in noted.stdout


def blocks(language: str) -> list[str]:
    """The code blocks of the docs page in one language."""
    text = (LOCK_SERVICE.parent / "own_spec.md").read_text(encoding="utf-8")
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)
    return [block for each, block in fenced if each == language]


def test_the_docs_show_what_python_prints() -> None:
    (program,) = blocks("python")
    shown = blocks("")[-1]
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=LOCK_SERVICE)
    assert ran.stdout == shown


def test_the_docs_show_what_a_check_prints(tmp_path: Path) -> None:
    for option, name in ([], "service.log"), (["--forgetful"], "forgetful.log"):
        service_log(tmp_path, *option).rename(tmp_path / name)
        for file in LOCK_SERVICE.iterdir():
            (tmp_path / file.name).write_bytes(file.read_bytes())
        command = ["check", "--spec", "LockService.tla", "--mapping", "mapping.toml", name]
        ran = lockstep(*command, cwd=tmp_path)
        assert f"$ lockstep {' '.join(command)}\n{ran.stdout}" in "\n\n".join(blocks("")) + "\n"


def test_the_docs_show_what_a_check_of_a_counterexample_prints(tmp_path: Path) -> None:
    for file in LOCK_SERVICE.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    lines = SPEC.read_text().replace("MODULE LockService", "MODULE Broken").splitlines(keepends=True)
    lines[19] = "    /\\ token' = token\n"
    (tmp_path / "Broken.tla").write_text("".join(lines))
    given = ["--spec", "Broken.tla", "--cfg", "LockService.cfg"]
    found = lockstep("model", *given, "--itf", "broken.itf.json", "--engine", "compiled", cwd=tmp_path)
    (shown,) = (each for each in blocks("") if "--itf broken.itf.json" in each)
    printed = lockstep("check", *given, "broken.itf.json", cwd=tmp_path).stdout
    assert shown.endswith(f"$ lockstep check {' '.join(given)} broken.itf.json\n{printed}")
    (shown,) = (
        each for each in blocks("") if each.startswith("$ lockstep model --spec Broken.tla --cfg LockService.cfg\n")
    )
    assert shown.partition("The counterexample")[2] == found.stdout.partition("The counterexample")[2]


def test_the_docs_quote_the_mapping() -> None:
    (quoted,) = blocks("toml")
    lines = [line.split("#")[0].strip() for line in MAPPING.read_text().splitlines()]
    assert set(quoted.split("\n")) <= {*lines, ""}


def test_the_lock_service_is_under_sixty_lines() -> None:
    assert len((LOCK_SERVICE / "lock_service.py").read_text().splitlines()) < 60


def assuming_too_many_nodes(folder: Path) -> Path:
    """The lock service with an ASSUME that its cfg does not keep."""
    spec = folder / "LockService.tla"
    spec.write_text(SPEC.read_text().replace("FewTokens ==", "ASSUME 1 = 2\nFewTokens ==", 1))
    return spec


@pytest.mark.parametrize("engine", sampled(["tlc", "compiled"], ["compiled"]))
def test_a_false_assumption_is_a_violation_to_both_engines(engine: str, tmp_path: Path) -> None:
    cfg = SPEC.with_suffix(".cfg")
    spec = assuming_too_many_nodes(tmp_path)
    found = run("model", "--spec", spec, "--cfg", cfg, "--engine", engine, "--format", "json")
    assert (found.return_value, json.loads(found.stdout)["distinct"]) == (1, None)


def test_no_trace_is_held_against_a_spec_whose_assumptions_are_false(tmp_path: Path) -> None:
    spec, cfg = assuming_too_many_nodes(tmp_path), SPEC.with_suffix(".cfg")
    refused = lockstep("check", "--spec", spec, "--cfg", cfg, "--mapping", MAPPING, service_log(tmp_path), cwd=tmp_path)
    assert refused.returncode == 2
    assert re.search(r"the ASSUME at LockService.tla:\d+:\d+ is false", refused.stderr)


COUNTS = """---- MODULE Counts ----
EXTENDS Integers
VARIABLES count, list
Init == count = [i \\in 0..1 |-> 0] /\\ list = [i \\in 1..2 |-> 0]
Add(i) == count' = [count EXCEPT ![i] = @ + 1] /\\ list' = [list EXCEPT ![i + 1] = @ + 1]
Next == \\E i \\in 0..1 : Add(i)
====
"""
COUNTS_MAPPING = """kind = "what"
[lines.added]
action = "Add"
args = { i = "i" }
shows = "state"
"""


SHOWN: list[tuple[dict[str, object], int, str]] = [
    ({"count": {"0": 1, "1": 0}, "list": {"1": 1}}, 0, "every property holds (1 event, 1 step, 3 values compared)"),
    ({"count": {"0": 1}, "list": [1, 0]}, 0, "every property holds (1 event, 1 step, 2 values compared)"),
    ({"count": {"1": 5}}, 1, "count.1: the trace shows 5, the spec says 0"),
    ({"list": {"1": 5}}, 1, "list.1: the trace shows 5, the spec says 1"),
    ({"count": {"2": 0}}, 2, "field `shows.count.2`"),
    ({"list": {"0": 0}}, 2, "field `shows.list.0`"),
    ({"count": {"00": 0}}, 2, "field `shows.count.00`"),
]
COMPARED = [(engine, *each) for engine in ("compiled", "tlc") for each in SHOWN]


@pytest.mark.parametrize(
    ("engine", "shown", "code", "said"),
    sampled(COMPARED, [*COMPARED[: len(SHOWN)], COMPARED[len(SHOWN) + 3]]),
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_key_that_writes_an_integer_is_that_index_of_a_function_or_sequence(
    engine: str, shown: dict[str, object], code: int, said: str, tmp_path: Path
) -> None:
    (tmp_path / "Counts.tla").write_text(COUNTS)
    (tmp_path / "Counts.cfg").write_text("INIT Init\nNEXT Next\n")
    (tmp_path / "counts.toml").write_text(COUNTS_MAPPING)
    (tmp_path / "counts.log").write_text(json.dumps({"what": "added", "i": 0, "state": shown}) + "\n")
    files = ("--spec", tmp_path / "Counts.tla", "--mapping", tmp_path / "counts.toml", tmp_path / "counts.log")
    found = run("check", "--engine", engine, *files)
    assert said in found.output
    assert found.return_value == code


def test_a_name_in_a_set_of_a_log_stands_for_its_model_value_too(tmp_path: Path) -> None:
    (tmp_path / "Seats.tla").write_text(
        "---- MODULE Seats ----\nCONSTANT Guest\nVARIABLE seated\nInit == seated = {}\n"
        "Sit(g) == g \\notin seated /\\ seated' = seated \\union {g}\nNext == \\E g \\in Guest : Sit(g)\n====\n"
    )
    (tmp_path / "Seats.cfg").write_text("CONSTANTS Guest = {a, b}  a = a  b = b\nINIT Init\nNEXT Next\n")
    (tmp_path / "m.toml").write_text(
        'kind = "k"\n[lines.sat]\naction = "Sit"\nargs = { g = "g" }\nshows = { seated = "all" }\n'
    )
    log = tmp_path / "seats.log"
    for last, verdict in (("b", "holds"), ("a", "violated")):
        lines = [{"k": "sat", "g": "a", "all": {"#set": ["a"]}}, {"k": "sat", "g": "b", "all": {"#set": ["a", last]}}]
        log.write_text("".join(json.dumps(line) + "\n" for line in lines))
        assert check(log, tmp_path / "m.toml", tmp_path / "Seats.tla")[1]["verdict"] == verdict
