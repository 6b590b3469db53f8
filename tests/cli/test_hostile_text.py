"""Every command shows the text of files, names and arguments on a terminal and in a pipe, and none of it acts there."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from lockstep.base.terminal import styled, visible_output
from lockstep.cli.command_line import cli
from tests.support.programs.lockstep_command import lockstep
from tests.support.programs.terminals import on_a_terminal
from tests.support.sampling import sampled

#: A colour, a title, a carriage return, a control of C1, an order of letters, ends of lines, and nothing to see.
OBEYED = "n\x1b[31mX\x1b]0;t\x07\r\x9b2J\x85\u202ey\u2028\u2029\u2066z\u2069\u200b\u200d\u2060\ufeff\u00ad\U000e0041"
#: JSON has two more, and a newline begins what looks like a verdict.
HOSTILE = f"{OBEYED}\x00\x7f\nother.ndjson: holds: a lie"

SPEC = """---- MODULE W ----
EXTENDS Naturals, Sequences, TLC
VARIABLES log, last
Init == log = << >> /\\ last = ""
Set(n, v) == PrintT(n) /\\ log' = Append(log, v) /\\ last' = n
Next == \\E n \\in {"a", "\u202e\x85"} , v \\in {1} : Set(n, v)
Short == Len(log) < 2
====
"""
MAPPING = 'kind = "what"\n[lines.set]\naction = "Set"\nargs = { n = "n", v = "v" }\n'


def obeyed(text: str) -> list[str]:
    """The characters of a text that a terminal would obey, or not show."""
    return [
        f"U+{ord(each):04X}"
        for each in text
        if each not in "\n\t" and unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    ]


def trace(**changed: object) -> list[dict[str, object]]:
    """A trace in which every word that can be is hostile; `action`, `args` and `shows` are of its last event."""
    constants = changed.pop("constants", {"StepwiseElections": True, "Fifo": False})
    head = {
        "kind": "header",
        "format": "lockstep-trace/1",
        "system": HOSTILE,
        "version": HOSTILE,
        "spec": changed.pop("spec", "DLedger"),
        "nodes": [HOSTILE, "n2", "n3"],
        "constants": constants,
        "scenario": HOSTILE,
    }
    steps = [
        {"node": HOSTILE, "action": "NextTerm", "args": {"term": 1}, "shows": {"currTerm": 1}},
        {"node": "n2", "action": "NextTerm", "args": {"term": 1}},
        {"node": HOSTILE, "action": "SetCurrVoteFor", "args": {"candidate": HOSTILE}},
        {"node": "n2", "action": "SetCurrVoteFor", "args": {"candidate": HOSTILE}},
        {"node": HOSTILE, "action": "ChangeToLeader"},
        {"node": "n2", "action": "ChangeToFollower", "args": {"leader": HOSTILE}},
        {"node": HOSTILE, "action": "AppendAsLeader", "args": {"value": HOSTILE}, **changed},
    ]
    events = [{"kind": "event", "seq": seq, **each} for seq, each in enumerate(steps)]
    return [head, *events, {"kind": "end", "events": len(events)}]


TRACES: dict[str, list[dict[str, object]]] = {
    "holds": trace(),
    "shows": trace(shows={"ledgerEndIndex": 99, "role": HOSTILE}),
    "action": trace(action=HOSTILE),
    "args": trace(args={HOSTILE: HOSTILE}),
    "field": trace(shows={HOSTILE: HOSTILE}),
    "key": trace(**{HOSTILE: 1}),
    "node": trace(node=f"{HOSTILE}4"),
    "step": trace(action="ChangeToLeader", args={}),
    "spec": trace(spec=HOSTILE),
    "constant": trace(constants={HOSTILE: HOSTILE}),
    "value": trace(constants={"StepwiseElections": HOSTILE, "Fifo": False}),
}
#: The name of a file can be everything but this.
FILE = f"{OBEYED}.trace.ndjson"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("hostile")
    for name, lines in TRACES.items():
        (made / f"{name}.trace.ndjson").write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    (made / FILE).write_bytes((made / "shows.trace.ndjson").read_bytes())
    (made / "W.tla").write_text(SPEC, encoding="utf-8")
    (made / "W.cfg").write_text("INIT Init\nNEXT Next\nINVARIANT Short\n")
    (made / "m.toml").write_text(MAPPING)
    (made / "wrong.toml").write_text(MAPPING + '"a\\u001b\\nb" = 1\n')
    lines = [{"what": "set", "n": "a", "v": 1}, {"what": "set", "n": HOSTILE, "v": 1}]
    (made / "w.log").write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    (made / "kind.log").write_text(json.dumps({"what": HOSTILE}) + "\n")
    (made / "raw.json").write_text(f'{{"{OBEYED}": \x1b\n')
    return made


#: Commands that print what files say.
PRINTED = [
    *(("check", f"{name}.trace.ndjson") for name in TRACES),
    *(("check", "--format", form, "shows.trace.ndjson") for form in ("json", "jsonl", "junit", "github")),
    ("check", FILE),
    ("check", "--format", "github", FILE),
    ("check", "--sarif", "v.sarif", "shows.trace.ndjson"),
    ("check", "raw.json"),
    ("check", "--engine", "tlc", "step.trace.ndjson"),
    *(("check", "--spec", "W.tla", "--mapping", "m.toml", name) for name in ("w.log", "kind.log")),
    ("check", "--spec", "W.tla", "--mapping", "wrong.toml", "w.log"),
    ("check", "--spec", "W.tla", "holds.trace.ndjson"),
    *(("export", "shows.trace.ndjson", "--to", form) for form in ("svg", "pytest", "itf")),
    ("graph", "--spec", "W.tla", "-o", "g.svg"),
    ("import", "holds.trace.ndjson", "-o", "made.ndjson"),
    ("minimise", FILE, "-o", "min.ndjson"),
    ("model", "--spec", "W.tla", "--engine", "compiled"),
    ("model", "--spec", "W.tla", "--engine", "tlc"),
    ("model", "--spec", "W.tla", "--engine", "compiled", "--format", "json"),
    ("play", "--scenario", "holds.trace.ndjson"),
    ("tamper", FILE),
    ("view", FILE, "-o", "page.html"),
    ("view", "action.trace.ndjson"),
]
SAMPLE = [(each,) for each in PRINTED if "--engine" not in each and each[-1] != "jsonl"]


@pytest.mark.parametrize(
    ("words",), sampled([(each,) for each in PRINTED], SAMPLE), ids=lambda words: ascii(" ".join(words))
)
def test_the_content_of_a_file_is_shown_and_never_obeyed(words: tuple[str, ...], folder: Path) -> None:
    done = lockstep(*words, cwd=folder)
    assert done.stdout + done.stderr != ""
    assert obeyed(done.stdout + done.stderr) == []
    forged = re.search(r"^other\.ndjson", done.stdout + done.stderr, re.MULTILINE)
    assert forged is None or words[0] == "export"  # a picture, or a test, whose lines no one takes for a verdict
    assert "internal error" not in done.stderr


def test_the_text_shown_is_the_text_of_the_file(folder: Path) -> None:
    done = lockstep("check", FILE, cwd=folder)
    shown = r"n\u001b[31mX\u001b]0;t\u0007\u000d\u009b2J\u0085\u202ey\u2028\u2029\u2066z\u2069\u200b\u200d\u2060\ufeff"
    assert done.stdout.startswith(shown)
    assert f"(event 6 of {shown}" in done.stdout


# ---- Arguments ----


def commands(command: click.Command = cli, *names: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that does something, with its names."""
    if not isinstance(command, click.Group):
        yield names, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from commands(found, *names, name)


def refused() -> list[tuple[str, ...]]:
    """Every command with a hostile option, hostile arguments, and each of its options with a hostile value."""
    found: list[tuple[str, ...]] = [(OBEYED,), (f"--{OBEYED}",)]
    for names, command in commands():
        found += [(*names, f"--{OBEYED}"), (*names, OBEYED, OBEYED, OBEYED, OBEYED)]
        for each in command.params:
            if isinstance(each, click.Option) and not each.is_flag and (needed(command) or takes_few(each)):
                found.append((*names, each.opts[-1], OBEYED, *["x"] * needed(command)))
    return found


def takes_few(option: click.Option) -> bool:
    """Whether an option refuses any word; else a command without arguments would do all its work."""
    return not isinstance(option.type, click.types.StringParamType) and not isinstance(option.type, click.Path)


def needed(command: click.Command) -> int:
    return sum(isinstance(each, click.Argument) and each.required for each in command.params)


REFUSED = refused()
#: Spark starts for those that take any word.
QUICK = [(each,) for each in REFUSED if each[-1].startswith("--") or (each[-1] == OBEYED and each[0] != "pipeline")]


def test_the_walk_knows_every_command() -> None:
    walked = {names for names, _ in commands()}
    assert len(walked) > 28
    assert {("check",), ("watch",), ("pipeline", "run"), ("course", "check")} <= walked


@pytest.mark.parametrize(
    ("words",),
    sampled([(each,) for each in REFUSED], QUICK),
    ids=lambda words: ascii(" ".join(words)),
)
def test_an_argument_is_shown_and_never_obeyed(words: tuple[str, ...], tmp_path: Path) -> None:
    done = lockstep(*words, cwd=tmp_path)
    assert obeyed(done.stdout + done.stderr) == []


def test_a_name_that_is_no_utf8_is_shown(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"n\xff\x9b.ndjson")).write_text("{}\n")
    done = lockstep("check", tmp_path, cwd=tmp_path)
    assert obeyed(done.stdout) == []
    assert r"n\udcff\udc9b.ndjson:1: LS301" in done.stdout


# ---- Terminals, and what others print ----


def test_a_terminal_obeys_only_our_own_colours_and_the_wiping_of_progress(folder: Path) -> None:
    (folder / "h").mkdir()
    (folder / "h" / FILE.replace("\n", "")).write_bytes((folder / "holds.trace.ndjson").read_bytes())
    output = on_a_terminal(folder, "check", "h")
    assert "\x1b[32;1mholds\x1b[0m" in output
    assert "event 0 of 7 ..." in output
    ours = re.sub(r"\r\x1b\[K|\x1b\[(32;1|0)m|\r\n", "", output)
    assert obeyed(ours) == []


def test_data_is_unchanged_in_a_pipe_and_visible_on_a_terminal(folder: Path) -> None:
    """U+0085 and the like are plain characters in JSON: a program gets them, a terminal their escapes."""
    piped = lockstep("export", "holds.trace.ndjson", "--to", "itf", cwd=folder)
    tree = json.loads(piped.stdout)
    assert HOSTILE in texts(tree)
    output = on_a_terminal(folder, "export", "holds.trace.ndjson", "--to", "pytest")
    assert obeyed(re.sub(r"\r\x1b\[K|\r\n", "", output)) == []


def texts(tree: object) -> set[str]:
    if isinstance(tree, dict):
        return {text for each in tree.items() for part in each for text in texts(part)}
    if isinstance(tree, list):
        return {text for each in tree for text in texts(each)}
    return {tree} if isinstance(tree, str) else set()


def test_the_output_of_a_library_and_of_python_itself_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    with visible_output():
        print(OBEYED)
        sys.stderr.writelines([OBEYED, "\n"])
        logging.StreamHandler().emit(logging.makeLogRecord({"msg": OBEYED}))
        click.echo(f"a: {styled(OBEYED, 'red')}", color=True)
    read = capfd.readouterr()
    assert read.out.count(r"\u001b[31m") == 2
    assert read.err.count(r"\u001b[31m") == 2, read.err
    assert obeyed(read.out + read.err) == []
