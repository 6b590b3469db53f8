"""Text on a terminal: names that hide something are seen, lines fit, colour and progress are this program's own."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from lockstep.base.characters import visible
from lockstep.base.package_data import traces_dir
from tests.support.places import ROOT
from tests.support.programs.lockstep_command import lockstep
from tests.support.programs.terminals import on_a_terminal

#: ESC, a title by OSC, BEL, CR, CSI as one character, an override of the direction, a separator, and no width.
HOSTILE = "n\x1b[31mEVIL\x1b]0;title\x07\r\x9b2J\u202eabc\u2028\u200b"
FIGURE8 = traces_dir() / "counterexamples" / "dledger" / "commit" / "prior_term_commit.trace.ndjson"


def controls(text: str) -> set[str]:
    """The characters of a text that a terminal obeys or hides, but for the end of a line and tab."""
    return {sign for sign in text if visible(sign) != sign}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A trace with a node of a hostile name."""
    text = FIGURE8.read_text(encoding="utf-8")
    (tmp_path / "node.trace.ndjson").write_text(text.replace('"n1"', json.dumps(HOSTILE)), encoding="utf-8")
    return tmp_path


def test_a_hidden_character_in_a_name_is_visible(folder: Path) -> None:
    output = lockstep("check", "--switch", "repaired", "node.trace.ndjson", cwd=folder).stdout
    assert r"n\u001b[31mEVIL\u001b]0;title\u0007\u000d\u009b2J\u202eabc\u2028\u200b" in output


def test_the_name_of_a_file_makes_no_line_of_its_own(folder: Path) -> None:
    forged = "a\nx.ndjson: holds: a behaviour of the spec; every property holds (9 events).ndjson"
    (folder / forged).write_bytes(FIGURE8.read_bytes())
    output = lockstep("check", forged, cwd=folder).stdout
    assert not [line for line in output.splitlines() if line.startswith("x.ndjson: holds")]
    assert output.startswith(r"a\nx.ndjson: holds:")


def test_json_has_the_very_name(folder: Path) -> None:
    output = lockstep("check", "--format", "json", "--switch", "repaired", "node.trace.ndjson", cwd=folder).stdout
    assert json.loads(output)[0]["findings"][0]["node"] == HOSTILE


def test_on_a_terminal_only_this_programs_own_sequences_are_obeyed(folder: Path) -> None:
    written = on_a_terminal(folder, "check", "--switch", "repaired", "node.trace.ndjson", columns=60, code=1).replace(
        "\r\n", "\n"
    )
    own = re.sub(r"\r\x1b\[K|\x1b\[31;1mviolated\x1b\[0m", "", written)
    assert "\x1b[31;1mviolated\x1b[0m" in written
    assert controls(own) == set()
    assert "title" in own


def test_on_a_terminal_lines_break_between_words_and_go_on_further_to_the_right(folder: Path) -> None:
    written = on_a_terminal(folder, "check", "--switch", "repaired", str(FIGURE8), columns=60, code=1).replace(
        "\r\n", "\n"
    )
    lines = re.sub(r"\r\x1b\[K|\x1b\[[0-9;]*m", "", written).split("\n")
    place = next(number for number, line in enumerate(lines) if line.startswith(str(FIGURE8)) and number)
    assert lines[place + 1].startswith("    ")
    text = " ".join(word for line in lines[place : place + 6] for word in line.split())
    assert text.startswith(f"{FIGURE8}:30: LS202 after QuorumAckChecker the trace shows something else than")


def test_colour_takes_no_column_of_a_line(folder: Path) -> None:
    (folder / "t.ndjson").write_bytes(FIGURE8.read_bytes())
    lines = on_a_terminal(folder, "check", "t.ndjson", columns=60, code=1).replace("\r\n", "\n").split("\n")
    first = re.sub(r".*\r\x1b\[K", "", lines[0])
    assert first == "t.ndjson: \x1b[31;1mviolated\x1b[0m: a behaviour of the spec that violates"


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_help_is_as_wide_as_the_terminal(columns: int, tmp_path: Path) -> None:
    output = lockstep("check", "--help", cwd=tmp_path, COLUMNS=str(columns)).stdout
    widest = max(len(line) for line in output.splitlines() if not line.startswith("  lockstep "))
    assert columns - 20 <= widest <= max(columns, 80)


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
