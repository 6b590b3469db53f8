"""The command line: what it prints, and the exit code of each outcome."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import fields
from pathlib import Path

import pytest
from click.testing import CliRunner

from lockstep.base.package_data import traces_dir
from lockstep.cli.command_line import COMMANDS, cli
from lockstep.conformance.trace_verdict import Finding, TraceVerdict
from lockstep.systems.registry import manifest, manifests
from raftref.dledger.choices import Feature
from tests.support.programs.lockstep_command import lockstep
from tests.support.tla.broken_spec import NO_VALUE, broken_spec

CAPTURED = traces_dir() / "captured" / "dledger"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("cli")
    done = lockstep("simulate", "--seed", "7", "--events", "120", cwd=place)
    assert (done.returncode, done.stdout) == (0, "ordered-7.trace.ndjson\n")
    return place


def tampered(folder: Path, name: str, before: str, after: str) -> Path:
    text = (folder / "ordered-7.trace.ndjson").read_text()
    assert before in text
    (folder / name).write_text(text.replace(before, after, 1))
    return folder / name


def test_a_conforming_trace_exits_0(folder: Path) -> None:
    done = lockstep("check", "ordered-7.trace.ndjson", cwd=folder)
    assert done.returncode == 0
    assert "ordered-7.trace.ndjson: holds: a behaviour of the spec" in done.stdout
    assert re.search(r"\(120 events, 120 steps, [1-9][\d,]* values compared\)$", done.stdout.rstrip())


def test_a_tampered_observation_exits_1_with_line_field_both_values_and_how_to_replay(folder: Path) -> None:
    path = tampered(folder, "t.ndjson", '"ledgerEndIndex":0', '"ledgerEndIndex":3')
    done = lockstep("check", path.name, cwd=folder)
    assert done.returncode == 1
    assert "ledgerEndIndex: the trace shows 3, the spec says 0" in done.stdout
    assert re.search(r"^    spec       Clients\.tla:\d+:1$", done.stdout, re.MULTILINE)
    assert done.stdout.rstrip().endswith("replay: lockstep check t.ndjson")


def test_a_truncated_file_exits_2_with_file_and_line(folder: Path) -> None:
    data = (folder / "ordered-7.trace.ndjson").read_bytes()
    (folder / "cut.ndjson").write_bytes(data[: len(data) // 2])
    done = lockstep("check", "cut.ndjson", cwd=folder)
    assert done.returncode == 2
    assert re.search(r"^cut.ndjson:\d+: LS301 malformed: the file is truncated", done.stdout)


def test_an_unknown_field_exits_2_and_is_named(folder: Path) -> None:
    path = tampered(folder, "u.ndjson", '"action":', '"colour":1,"action":')
    done = lockstep("check", path.name, cwd=folder)
    assert done.returncode == 2
    assert "u.ndjson:2: LS301 malformed: field `colour`: unknown field" in done.stdout


def test_an_empty_file_exits_2_and_a_trace_without_steps_exits_3(folder: Path) -> None:
    (folder / "empty.ndjson").write_bytes(b"")
    assert lockstep("check", "empty.ndjson", cwd=folder).returncode == 2
    head = (folder / "ordered-7.trace.ndjson").read_text().splitlines()[0]
    (folder / "bare.ndjson").write_text(head + '\n{"kind":"end","events":0}\n')
    done = lockstep("check", "bare.ndjson", cwd=folder)
    assert (done.returncode, "bare.ndjson: LS401 inconclusive: the trace is empty" in done.stdout) == (3, True)


def test_one_bad_trace_among_good_ones_decides_the_exit_code(folder: Path) -> None:
    (folder / "empty.ndjson").write_bytes(b"")
    done = lockstep("check", "ordered-7.trace.ndjson", "empty.ndjson", "--format", "json", cwd=folder)
    assert done.returncode == 2
    printed = json.loads(done.stdout)
    assert [each["verdict"] for each in printed] == ["holds", "malformed"]
    assert [each["observed"] > 0 for each in printed] == [True, False]


def test_malformed_values_exit_2_with_file_line_and_field_and_leave_the_other_traces_their_verdicts(
    folder: Path,
) -> None:
    args = tampered(folder, "args.ndjson", '"args":{"candidate":"', '"args":{"candidate":{"#set":3},"x":"')
    shows = tampered(folder, "shows.ndjson", '"currTerm":0', '"currTerm":{"#map":[1]}')
    done = lockstep("check", args.name, "ordered-7.trace.ndjson", shows.name, cwd=folder)
    assert done.returncode == 2
    assert "ordered-7.trace.ndjson: holds: " in done.stdout
    assert re.search(r"args.ndjson:\d+: LS301 malformed: field `args.x`: ", done.stdout)
    assert re.search(r"shows.ndjson:\d+: LS301 malformed: field `shows.currTerm`: '#map' needs pairs", done.stdout)


def test_an_error_of_the_spec_exits_4_and_leaves_the_other_traces_their_verdicts(folder: Path, tmp_path: Path) -> None:
    done = lockstep("simulate", "--seed", "4", "--events", "400", cwd=tmp_path)
    assert '"PersistCheckPoint"' in (tmp_path / "ordered-4.trace.ndjson").read_text()
    done = lockstep("simulate", "--seed", "5", "--events", "20", cwd=tmp_path)
    assert done.returncode == 0
    traces = [str(tmp_path / f"ordered-{seed}.trace.ndjson") for seed in (4, 5)]
    with broken_spec(tmp_path, NO_VALUE):
        result = CliRunner().invoke(cli, ["check", *traces], standalone_mode=False)
    assert result.return_value == 4
    assert f"{traces[0]}: LS501 internal error: the spec could not be evaluated at line " in result.output
    assert f"{traces[1]}: holds: " in result.output


def test_a_missing_file_and_a_wrong_switch_exit_2(folder: Path) -> None:
    assert lockstep("check", "nowhere.ndjson", cwd=folder).returncode == 2
    done = lockstep("check", "--switch", "Fifo=perhaps", "ordered-7.trace.ndjson", cwd=folder)
    assert done.returncode == 2
    assert "is no switch; did you mean Fifo=false?" in done.stderr


def test_a_seed_and_a_plan_reproduce_a_trace_to_the_byte(folder: Path, tmp_path: Path) -> None:
    lockstep("simulate", "--seed", "7", "--events", "120", cwd=tmp_path)
    name = "ordered-7.trace.ndjson"
    assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_a_malformed_plan_exits_2_naming_the_field(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text('{"nodes": 99}')
    done = lockstep("simulate", "--plan", "plan.json", cwd=tmp_path)
    assert (done.returncode, "field `nodes`" in done.stderr) == (2, True)
    assert lockstep("simulate", "--plan", "nothing", cwd=tmp_path).returncode == 2


def test_a_recording_is_imported_explained_as_published_and_refuted_by_the_repaired_spec(tmp_path: Path) -> None:
    done = lockstep("import", CAPTURED / "dledger-0.2.7-figure8.ndjson", "-o", "f.ndjson", cwd=tmp_path)
    assert (done.returncode, done.stdout.split(":")[0]) == (0, "f.ndjson")
    published = lockstep("check", "f.ndjson", cwd=tmp_path)
    assert published.returncode == 1
    assert "LeaderCompleteness is violated by ChangeToLeader" in published.stdout
    assert "recorded line 1062" in published.stdout
    repaired = lockstep("check", "--switch", "repaired", "f.ndjson", cwd=tmp_path)
    assert repaired.returncode == 1
    assert "recorded line 934" in repaired.stdout
    assert "committedIndex: the trace shows 2, the spec says 1" in repaired.stdout


def test_import_reports_the_use_of_the_lines_as_json(tmp_path: Path) -> None:
    recording = CAPTURED / "dledger-0.2.7-fault_free.ndjson"
    done = lockstep("import", recording, "-o", "f.ndjson", "--format", "json", cwd=tmp_path)
    printed = json.loads(done.stdout)
    assert sum(printed["lines"].values()) == len(recording.read_bytes().splitlines())
    assert printed["events"] == len((tmp_path / "f.ndjson").read_bytes().splitlines()) - 2
    assert printed["forced"] == []
    done = lockstep("import", recording, "-o", "f.ndjson", cwd=tmp_path)
    assert done.stdout.rstrip().endswith(" noise), 0 forced")


def test_a_trace_is_written_through_a_link_and_into_a_pipe(tmp_path: Path) -> None:
    recording = CAPTURED / "dledger-0.2.7-figure8.ndjson"
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    assert lockstep("import", recording, "-o", "link", cwd=tmp_path).returncode == 0
    assert (tmp_path / "link").is_symlink()
    written = (tmp_path / "real").read_bytes()
    assert written.startswith(b'{"kind":"header"')
    piped = subprocess.run(
        [sys.executable, "-m", "lockstep", "import", recording, "-o", "/dev/stdout"],
        stdout=subprocess.PIPE,
        check=True,
        timeout=60,
    )
    assert piped.stdout.startswith(written)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that takes no byte, of Linux")
def test_a_failed_write_is_no_malformed_input(tmp_path: Path) -> None:
    done = lockstep("import", CAPTURED / "dledger-0.2.7-figure8.ndjson", "-o", "/dev/full", cwd=tmp_path)
    assert (done.returncode, "/dev/full" in done.stderr) == (4, True)
    with Path("/dev/full").open("wb") as full:
        shown = subprocess.run([sys.executable, "-m", "lockstep", "explain"], stdout=full, check=False, timeout=60)
    assert shown.returncode == 4


def test_a_reader_that_is_gone_gets_no_exit_code_of_a_verdict() -> None:
    explaining = subprocess.Popen([sys.executable, "-m", "lockstep", "explain"], stdout=subprocess.PIPE)
    assert explaining.stdout is not None
    explaining.stdout.close()
    assert explaining.wait(timeout=60) == 141


def test_a_pipe_that_is_not_the_output_is_no_reader_that_is_gone(tmp_path: Path) -> None:
    code = (
        "import lockstep.cli.command_line as c, lockstep.trace.trace_format as f\n"
        "def broken(): raise BrokenPipeError(32, 'Broken pipe')\n"
        "f.json_schema = broken\nc.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "schema"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, "Broken pipe" in done.stderr) == (3, True)


def test_a_recording_that_is_none_exits_2_and_writes_nothing(tmp_path: Path) -> None:
    data = (CAPTURED / "dledger-0.2.7-figure8.ndjson").read_bytes()
    (tmp_path / "half.ndjson").write_bytes(data[: len(data) // 2])
    done = lockstep("import", "half.ndjson", "-o", "out.ndjson", cwd=tmp_path)
    assert (done.returncode, "half.ndjson:" in done.stderr) == (2, True)
    assert not (tmp_path / "out.ndjson").exists()


def test_a_witness_that_is_reached_exits_0(tmp_path: Path) -> None:
    done = lockstep("model", "witness_leader", "--format", "json", cwd=tmp_path)
    assert done.returncode == 0
    (found,) = json.loads(done.stdout)
    assert (found["verdict"], found["tlc"], found["property"]) == ("holds", "violated", "NoLeader")
    assert found["counterexample"][1]["action"] == "ElectLeader"


def test_without_java_the_models_are_inconclusive_in_one_line(tmp_path: Path) -> None:
    done = lockstep("model", "quorum", cwd=tmp_path, PATH=str(tmp_path), JAVA_HOME=str(tmp_path))
    assert done.returncode == 3
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Java" in done.stderr


def test_without_java_and_without_a_compiled_spec_a_trace_is_inconclusive_in_one_line(
    folder: Path, tmp_path: Path
) -> None:
    nowhere = {"PATH": str(tmp_path), "JAVA_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    done = lockstep("check", "ordered-7.trace.ndjson", cwd=folder, **nowhere)
    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (3, "", 1)
    assert "inconclusive: Java 17 or newer is required; none found on " in done.stdout
    assert "; install a JDK 17 (" in done.stdout
    done = lockstep("graph", "late_truncate_bug", "-o", "g.svg", cwd=tmp_path, **nowhere)
    assert (done.returncode, len(done.stderr.splitlines())) == (3, 1)


@pytest.mark.parametrize(
    "words",
    [
        ("model", "quorum", "--parallel", "0"),
        ("model", "quorum", "--parallel", "-1"),
        ("simulate", "--seed", "-1"),
        ("simulate", "--seeds", "0"),
        ("simulate", "--events", "0"),
        ("simulate", "--events", "10000001"),
        ("prove", "quorums_intersect", "--timeout", "0"),
        ("prove", "quorums_intersect", "--timeout", str(2**32)),
        ("graph", "late_truncate_bug", "-o", "g.svg", "--limit", "0"),
        ("verify", "--seeds", "0"),
        ("verify", "--events", "0"),
        ("verify", "--parallel", "0"),
    ],
    ids=" ".join,
)
def test_a_number_out_of_range_is_wrong_usage_that_names_the_option(words: tuple[str, ...], tmp_path: Path) -> None:
    done = lockstep(*words, cwd=tmp_path)
    assert done.returncode == 2
    option = words[-2]
    assert f"Invalid value for '{option}'" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_lemma_is_proved_and_an_unknown_one_exits_2(tmp_path: Path) -> None:
    done = lockstep("prove", "quorums_intersect", cwd=tmp_path)
    assert (done.returncode, "quorums_intersect: proved" in done.stdout) == (0, True)
    assert lockstep("prove", "nope", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("late_truncated", "; did you mean late_truncate or late_truncate_bug or witness_late_truncate? all are in "),
        ("zzz", "; all are in "),
    ],
)
@pytest.mark.parametrize("command", [("model",), ("graph", "-o", "g.svg")], ids=["model", "graph"])
def test_for_an_unknown_model_only_similar_names_are_printed(
    command: tuple[str, ...], name: str, hint: str, tmp_path: Path
) -> None:
    done = lockstep(*command, name, cwd=tmp_path)
    paths = ", ".join(str(each.path) for each in manifests())
    printed = f"lockstep: no model {name!r}{hint}{paths}, and the shell completes their names\n"
    assert (done.returncode, done.stderr) == (2, printed)


def test_the_shortest_violation_is_drawn_as_svg(tmp_path: Path) -> None:
    done = lockstep("graph", "late_truncate_bug", "-o", "g.svg", cwd=tmp_path)
    assert done.returncode == 0
    texts = [element.text or "" for element in ElementTree.parse(tmp_path / "g.svg").iter()]
    violated = manifest().model("late_truncate_bug").violates
    assert violated
    assert any(violated in text for text in texts)
    assert any("HandleDoTruncate(n2)" in text for text in texts)


def test_a_model_without_violation_is_not_drawn(tmp_path: Path) -> None:
    done = lockstep("graph", "ordered", "-o", "g.svg", cwd=tmp_path)
    assert (done.returncode, "ordered has no violation to draw" in done.stderr) == (2, True)
    assert not (tmp_path / "g.svg").exists()


def test_the_help_of_the_picture_says_what_its_exit_codes_mean(tmp_path: Path) -> None:
    printed = " ".join(lockstep("graph", "--help", cwd=tmp_path).stdout.split())
    assert "Exit codes: 0 a path was drawn, or a graph written; 2 there is no violation to draw" in printed


def test_a_search_for_a_violation_that_comes_to_its_limit_is_inconclusive(tmp_path: Path) -> None:
    done = lockstep("graph", "late_truncate_bug", "-o", "g.svg", "--limit", "5", cwd=tmp_path)
    assert (done.returncode, "gave up after 5 states" in done.stderr) == (3, True)
    assert not (tmp_path / "g.svg").exists()


def test_the_schema_is_json(tmp_path: Path) -> None:
    done = lockstep("schema", cwd=tmp_path)
    assert "$defs" in json.loads(done.stdout)


@pytest.mark.parametrize(
    "command", ["model", "simulate", "check", "import", "prove", "graph", "schema", "verify", "fleet"]
)
def test_every_command_has_help(command: str, tmp_path: Path) -> None:
    assert "Usage:" in lockstep(command, "--help", cwd=tmp_path).stdout


def test_the_help_lists_every_command_and_imports_what_none_of_them_needs() -> None:
    code = "import sys, lockstep.cli.command_line as c\nsys.argv = ['lockstep', '--help']\n"
    code += "try: c.main()\nfinally: print(sorted(m for m in sys.modules if m.partition('.')[0] == 'lockstep'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    text, _, modules = done.stdout.rstrip().rpartition("\n")
    assert [name for name in COMMANDS if not re.search(rf"^  {name} +[A-Z][^.]*\.$", text, re.MULTILINE)] == []
    imported = {name.split(".")[1] for name in ast.literal_eval(modules) if "." in name}
    assert imported == {"base", "cli"}


def test_the_help_lists_the_exit_codes(tmp_path: Path) -> None:
    text = " ".join(lockstep("--help", cwd=tmp_path).stdout.split())
    for part in ("0 everything holds", "1 a violation", "2 wrong usage", "3 inconclusive", "4 an internal error"):
        assert part in text


def schema_of(definition: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run `lockstep schema`, with this in the place of what makes the schema, which is `right`."""
    begin = "import lockstep.cli.command_line as c, lockstep.trace.trace_format as f\nright = f.json_schema\n"
    code = f"{begin}{definition}\nf.json_schema = other\nc.main()"
    return subprocess.run(
        [sys.executable, "-c", code, "schema"], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )


def test_an_error_of_lockstep_itself_exits_4(tmp_path: Path) -> None:
    done = schema_of("def other(): raise ZeroDivisionError('x')", tmp_path)
    assert (done.returncode, done.stderr) == (4, "lockstep: internal error: ZeroDivisionError: x\n")


def test_the_log_of_py4j_is_hidden_from_the_terminal_and_that_of_others_is_not(tmp_path: Path) -> None:
    """Py4J logs a traceback in a thread, now and then, as Ctrl-C kills Spark's Java."""
    done = schema_of(
        "def other():\n"
        "    for place in ('py4j/java_gateway.py', 'asyncio/events.py'):\n"
        "        say = f'import logging\\nlogging.exception({place!r})\\nlogging.getLogger(\"x\").info(1)'\n"
        "        exec(compile(say, f'/usr/lib/{place}', 'exec'))\n"
        "    return right()",
        tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "asyncio/events.py\nNoneType: None\n")
    assert done.stdout == lockstep("schema", cwd=tmp_path).stdout


def shown(page: str, begin: str) -> str:
    """The one block of a page that begins with this command."""
    text = (traces_dir().parent / page).read_text(encoding="utf-8")
    (block,) = re.findall(rf"^```text\n(\$ {begin} .*?)^```$", text, re.M | re.S)
    return str(block)


def test_the_page_on_conformance_shows_what_import_and_check_print(tmp_path: Path) -> None:
    source, trace = CAPTURED / "dledger-0.2.7-figure8.ndjson", "figure8.trace.ndjson"
    imported = lockstep("import", source, "-o", trace, cwd=tmp_path)
    checked = lockstep("check", "--switch", "repaired", trace, cwd=tmp_path)
    commands = [
        f"$ lockstep import traces/captured/dledger/{source.name} -o {trace}\n",
        f"$ lockstep check --switch repaired {trace}\n",
    ]
    block = shown("docs/conformance.md", "lockstep import")
    assert block == commands[0] + imported.stdout + commands[1] + checked.stdout


def test_the_page_on_logs_shows_what_import_prints(tmp_path: Path) -> None:
    log, trace = CAPTURED / "dledger-0.2.7-figure8.log", "figure8-log.trace.ndjson"
    explained = lockstep("import", log, "-o", trace, cwd=tmp_path)
    command = f"$ lockstep import traces/captured/dledger/{log.name} -o {trace}\n"
    assert shown("docs/traces/logs.md", "lockstep import") == command + explained.stdout


def test_the_page_on_conformance_shows_what_simulate_and_check_print(tmp_path: Path) -> None:
    block = shown("docs/conformance.md", "lockstep simulate")
    commands = [line.split()[2:] for line in block.splitlines() if line.startswith("$ ")]
    printed = ["$ lockstep " + " ".join(words) + "\n" + lockstep(*words, cwd=tmp_path).stdout for words in commands]
    assert block == "".join(printed)


def test_the_picture_of_the_docs_is_what_graph_draws(tmp_path: Path) -> None:
    assert lockstep("graph", "late_truncate_bug", "-o", "g.svg", cwd=tmp_path).returncode == 0
    kept = traces_dir().parent / "docs" / "pictures" / "late_truncate.svg"
    assert (tmp_path / "g.svg").read_text() == kept.read_text()


def test_the_page_on_traces_lists_every_field_of_a_verdict_and_of_a_finding() -> None:
    text = (traces_dir().parent / "docs" / "traces" / "format.md").read_text(encoding="utf-8")
    printed = text[text.index("## What `check` prints") :]
    names = [field.name for kind in (TraceVerdict, Finding) for field in fields(kind)]
    assert [name for name in [*names, "exit_code", "code"] if f"`{name}`" not in printed] == []


@pytest.mark.parametrize(
    ("page", "nth", "printed"),
    [
        ("docs/traces/format.md", 0, "7 events, 7 steps, 9 values compared"),
        ("docs/traces/format.md", 1, "16 events, 16 steps, 13 values compared"),
        ("docs/traces/format.md", 2, "3 events, 3 steps, 6 values compared"),
    ],
)
def test_a_trace_that_a_page_shows_holds_as_it_stands(page: str, nth: int, printed: str, tmp_path: Path) -> None:
    text = (traces_dir().parent / page).read_text(encoding="utf-8")
    shown = re.findall(r"^```json\n(.*?)^```$", text, re.M | re.S)[nth]
    (tmp_path / "mine.trace.ndjson").write_text(shown)
    done = lockstep("check", "mine.trace.ndjson", cwd=tmp_path)
    assert (done.returncode, printed in done.stdout) == (0, True)


def test_the_page_on_traces_lists_every_constant_s_default() -> None:
    text = (traces_dir().parent / "docs" / "traces" / "format.md").read_text(encoding="utf-8")
    defaults = dict(re.findall(r"^\| `(\w+)` \| `(\w+)` \|", text, re.M))
    assert defaults == {str(each): "false" for each in Feature}
