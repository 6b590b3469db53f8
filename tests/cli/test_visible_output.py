"""Whatever a file says is shown on a terminal, never obeyed: no command writes a control character of an input."""

from __future__ import annotations

import ast
import json
import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

from lockstep.base.characters import visible
from lockstep.base.paths import traces_dir
from lockstep_command import lockstep
from places import ROOT

#: ESC, a title by OSC, BEL, CR, CSI as one character, an override of the direction, a separator, and no width.
HOSTILE = "n\x1b[31mEVIL\x1b]0;title\x07\r\x9b2J\u202eabc\u2028\u200b"
FIGURE8 = traces_dir() / "counterexamples" / "dledger" / "commit" / "figure8.trace.ndjson"
SPEC = ROOT / "docs" / "lock_service" / "LockService.tla"


def controls(text: str) -> set[str]:
    """The characters of a text that a terminal obeys or hides, but for the end of a line and tab."""
    return {sign for sign in text if visible(sign) != sign}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files that name a node, an action, a field and a value by hostile text."""
    text = FIGURE8.read_text(encoding="utf-8")
    (tmp_path / "node.trace.ndjson").write_text(text.replace('"n1"', json.dumps(HOSTILE)), encoding="utf-8")
    raw = text.replace('"n1"', json.dumps(HOSTILE, ensure_ascii=False).replace("\\r", "\\r"))
    (tmp_path / "raw.trace.ndjson").write_text(raw, encoding="utf-8")
    action = text.replace('"action":"ChangeToLeader"', f'"action":{json.dumps(HOSTILE)}')
    (tmp_path / "action.trace.ndjson").write_text(action, encoding="utf-8")
    field = text.replace('"shows":{', f'"shows":{{{json.dumps(HOSTILE)}:1,', 1)
    (tmp_path / "field.trace.ndjson").write_text(field, encoding="utf-8")
    (tmp_path / f"file{HOSTILE.replace('/', '')}.trace.ndjson").write_text("no trace\n", encoding="utf-8")
    (tmp_path / "x.log").write_text(f"{HOSTILE}\n", encoding="utf-8")
    (tmp_path / "Evil.tla").write_text(f"---- MODULE Evil ----\n{HOSTILE}\n====\n", encoding="utf-8")
    (tmp_path / "Evil.cfg").write_text(f"INIT {HOSTILE}\n", encoding="utf-8")
    (tmp_path / "mapping.toml").write_text('kind = "a\\u001bb"\n[lines.x]\naction = "\\u001b[2J"\n', encoding="utf-8")
    return tmp_path


COMMANDS = [
    ("check", "node.trace.ndjson"),
    ("check", "raw.trace.ndjson"),
    ("check", "--switch", "repaired", "node.trace.ndjson"),
    ("check", "action.trace.ndjson"),
    ("check", "field.trace.ndjson"),
    ("check", "--format", "json", "raw.trace.ndjson"),
    ("check", "--format", "junit", "raw.trace.ndjson"),
    ("check", "--format", "github", "--switch", "repaired", "raw.trace.ndjson"),
    ("check", "."),
    ("check", "--spec", str(SPEC), "--mapping", "mapping.toml", "x.log"),
    ("check", "--switch", HOSTILE, "node.trace.ndjson"),
    (HOSTILE,),
    ("model", HOSTILE),
    ("model", "--spec", "Evil.tla"),
    ("model", "--spec", str(SPEC), "--cfg", "Evil.cfg", "--engine", "compiled"),
    ("explain", HOSTILE),
    ("import", "x.log", "-o", "out"),
    ("import", "node.trace.ndjson", "-o", "out"),
    ("export", "node.trace.ndjson", "--to", "mermaid"),
    ("export", "node.trace.ndjson", "--to", "shiviz"),
    ("view", "node.trace.ndjson", "-o", "page.html"),
    ("view", "action.trace.ndjson", "-o", "page.html"),
    ("minimise", "node.trace.ndjson", "-o", "min.ndjson"),
    ("minimise", "action.trace.ndjson"),
    ("simulate", "--plan", HOSTILE),
    ("tamper", "node.trace.ndjson"),
    ("course", HOSTILE),
    ("pipeline", "report", HOSTILE),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: re.sub(r"\W+", " ", " ".join(command))[:50])
def test_no_command_prints_a_control_character_of_a_file(folder: Path, command: tuple[str, ...]) -> None:
    done = lockstep(*command, cwd=folder)
    assert done.stdout + done.stderr
    assert controls(done.stdout + done.stderr) == set()


def test_what_was_hidden_in_a_name_is_seen(folder: Path) -> None:
    said = lockstep("check", "--switch", "repaired", "node.trace.ndjson", cwd=folder).stdout
    assert r"n\u001b[31mEVIL\u001b]0;title\u0007\u000d\u009b2J\u202eabc\u2028\u200b" in said


def test_the_name_of_a_file_makes_no_line_of_its_own(folder: Path) -> None:
    forged = "a\nx.ndjson: holds: a behaviour of the spec; every property holds (9 events).ndjson"
    (folder / forged).write_bytes(FIGURE8.read_bytes())
    said = lockstep("check", forged, cwd=folder).stdout
    assert not [line for line in said.splitlines() if line.startswith("x.ndjson: holds")]
    assert said.startswith(r"a\nx.ndjson: holds:")


def test_json_has_the_very_name(folder: Path) -> None:
    said = lockstep("check", "--format", "json", "--switch", "repaired", "node.trace.ndjson", cwd=folder).stdout
    assert json.loads(said)[0]["findings"][0]["node"] == HOSTILE


def on_a_terminal(folder: Path, *command: str) -> str:
    """Run the command on a pseudo-terminal, and return what it wrote there."""
    master, slave = pty.openpty()
    line = [sys.executable, "-m", "lockstep", *command]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "60"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(line, cwd=folder, stdin=slave, stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    written = b""
    while select.select([master], [], [], 60)[0]:
        try:
            part = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        written += part
    process.wait(60)
    os.close(master)
    return written.decode()


def test_on_a_terminal_only_this_programs_own_sequences_are_obeyed(folder: Path) -> None:
    written = on_a_terminal(folder, "check", "--switch", "repaired", "node.trace.ndjson").replace("\r\n", "\n")
    own = re.sub(r"\r\x1b\[K|\x1b\[31;1mviolated\x1b\[0m", "", written)
    assert "\x1b[31;1mviolated\x1b[0m" in written
    assert controls(own) == set()
    assert "title" in own


def test_on_a_terminal_lines_break_between_words_and_go_on_further_to_the_right(folder: Path) -> None:
    written = on_a_terminal(folder, "check", "--switch", "repaired", str(FIGURE8)).replace("\r\n", "\n")
    lines = re.sub(r"\r\x1b\[K|\x1b\[[0-9;]*m", "", written).split("\n")
    place = next(number for number, line in enumerate(lines) if line.startswith(str(FIGURE8)) and number)
    assert lines[place + 1].startswith("    ")
    text = " ".join(word for line in lines[place : place + 6] for word in line.split())
    assert text.startswith(f"{FIGURE8}:30: LS202 after QuorumAckChecker the trace shows something else than")


def test_colour_takes_no_column_of_a_line(folder: Path) -> None:
    (folder / "t.ndjson").write_bytes(FIGURE8.read_bytes())
    lines = on_a_terminal(folder, "check", "t.ndjson").replace("\r\n", "\n").split("\n")
    first = re.sub(r".*\r\x1b\[K", "", lines[0])
    assert first == "t.ndjson: \x1b[31;1mviolated\x1b[0m: a behaviour of the spec that violates"


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_help_is_as_wide_as_the_terminal(columns: int, tmp_path: Path) -> None:
    said = lockstep("check", "--help", cwd=tmp_path, COLUMNS=str(columns)).stdout
    widest = max(len(line) for line in said.splitlines() if not line.startswith("  lockstep "))
    assert columns - 20 <= widest <= max(columns, 80)


#: Where text goes to standard output or standard error: through click, on the streams that `main` replaces.
ALLOWED = {"print", "echo"}


def test_nothing_writes_past_the_streams_that_show_control_characters() -> None:
    """`sys.__stdout__`, a file descriptor, or the binary buffer of a stream would."""
    found = []
    for path in sorted((ROOT / "checker").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in ("__stdout__", "__stderr__"):
                found.append(f"{path}:{node.lineno}")
            if isinstance(node, ast.Attribute) and node.attr == "buffer" and path.name != "terminal.py":
                owner = ast.unparse(node.value)
                found += [f"{path}:{node.lineno}"] if owner in ("sys.stdout", "sys.stderr") else []
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("click.style", "click.secho"):
                found.append(f"{path}:{node.lineno}")
    assert found == []
