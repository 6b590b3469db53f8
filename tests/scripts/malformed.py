"""The catalogue of bad input: what may be wrong with a file, and what is said of it.

Each case writes its files into an empty folder and runs one command in it. `python -m tests.scripts.malformed` prints
docs/errors.md.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from lockstep.cli.command_line import main
from lockstep.conformance.finding_codes import ALL_CODES
from lockstep.jobs.recordings_manifest import RecordingsError, load_recordings
from lockstep.models.model_manifest import ManifestError, load_manifest
from tests.support.places import ROOT
from tests.support.programs.mistakes import MISTAKES
from tests.support.systems.split_recordings import split

CAPTURED = ROOT / "traces" / "captured" / "dledger"
LOCK_SERVICE = ROOT / "docs" / "lock_service"

Files = dict[str, bytes]


@dataclass(frozen=True)
class Case:
    """One thing that is wrong: the files it takes, and the command that meets them; `entry` runs it."""

    group: str
    name: str
    files: Files
    command: tuple[str, ...]
    exit_code: int = 2
    entry: Callable[[], object] = main


@dataclass(frozen=True)
class CommandOutput:
    """The text that a command printed, and its exit code."""

    exit_code: int
    text: str


def run(case: Case, folder: Path) -> CommandOutput:
    """Run the command of a case in a folder, in this process."""
    for name, content in case.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    out, err = io.StringIO(), io.StringIO()
    with in_folder(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            with mock.patch.object(sys, "argv", ["lockstep", *case.command]):
                case.entry()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    text = (err.getvalue() + out.getvalue()).replace(f"{folder}{os.sep}", "").strip()
    return CommandOutput(code, text)


@contextlib.contextmanager
def in_folder(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


# ---- Traces ----

HEADER: dict[str, Any] = {
    "kind": "header",
    "format": "lockstep-trace/1",
    "system": "mine",
    "version": "1",
    "spec": "DLedger",
    "nodes": ["n1", "n2", "n3"],
    "constants": {"StepwiseElections": True, "Fifo": True},
}
EVENT: dict[str, Any] = {
    "kind": "event",
    "seq": 0,
    "node": "n1",
    "action": "NextTerm",
    "args": {"term": 1},
    "shows": {"currTerm": 1},
    "sent": [],
}
END: dict[str, Any] = {"kind": "end", "events": 1}
TRACE: Sequence[Any] = (HEADER, EVENT, END)


def lines(*trees: Any) -> bytes:
    return b"".join(tree if isinstance(tree, bytes) else json.dumps(tree).encode() + b"\n" for tree in trees)


def without(tree: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in tree.items() if key != name}


def nested(depth: int) -> Any:
    return 1 if depth == 0 else [nested(depth - 1)]


def trace(name: str, *trees: Any, exit_code: int = 2) -> Case:
    return Case("Traces", name, {"t.ndjson": lines(*trees)}, ("check", "t.ndjson"), exit_code)


def header(name: str, **changed: Any) -> Case:
    return trace(name, {**HEADER, **changed}, EVENT, END)


def event(name: str, exit_code: int = 2, **changed: Any) -> Case:
    return trace(name, HEADER, {**EVENT, **changed}, END, exit_code=exit_code)


def constants(name: str, **changed: Any) -> Case:
    return header(name, constants={**HEADER["constants"], **changed})


WHOLE = lines(*TRACE)

TRACES = [
    trace("an empty file"),
    trace("a header alone", HEADER),
    trace("no end line", HEADER, EVENT),
    trace("cut within a line", WHOLE[: len(WHOLE) - 9]),
    trace("more after the end line", *TRACE, EVENT),
    trace("an end line that counts wrongly", HEADER, EVENT, {**END, "events": 2}),
    trace("no header", EVENT, END),
    trace("a second header", HEADER, HEADER, END),
    trace("no events", HEADER, {**END, "events": 0}, exit_code=3),
    trace("no JSON", HEADER, b"NextTerm of n1\n", END),
    trace("a number on a line", HEADER, b"7\n", END),
    trace("a blank line", HEADER, b"\n", EVENT, END),
    trace("bad UTF-8", HEADER, lines(EVENT).replace(b"NextTerm", b"Next\xffTerm"), END),
    trace("a byte order mark", b"\xef\xbb\xbf" + lines(HEADER), EVENT, END),
    trace("UTF-16", WHOLE.decode().encode("utf-16")),
    trace("compressed", gzip.compress(WHOLE * 10_000, mtime=0)),
    trace("a key twice", HEADER, lines(EVENT).replace(b'"seq": 0', b'"seq": 0, "seq": 1'), END),
    trace("a key twice within", HEADER, lines(EVENT).replace(b'"currTerm": 1', b'"currTerm": 0, "currTerm": 1'), END),
    trace("a key twice, with blanks", HEADER, lines(EVENT).replace(b'"seq": 0', b'"seq" : 0, "seq" : 1'), END),
    header("another format", format="lockstep-trace/9"),
    header("a spec that is not there", spec="Paxos"),
    header("no nodes", nodes=[]),
    header("a node twice", nodes=["n1", "n1"]),
    header("a node without a name", nodes=["n1", ""]),
    header("an unknown field of the header", colour="red"),
    header("a spec_hash that is none", spec_hash="latest"),
    trace("a header without constants", without(HEADER, "constants"), EVENT, END),
    constants("a constant that the spec does not have", Speed=3),
    constants("a constant that is null", Fifo=None),
    constants("a switch that is neither published nor repaired", VoteFile="mended"),
    constants("constants that the spec excludes", Batches=True),
    event("an unknown field", colour="red"),
    trace("a field that is missing", HEADER, without(EVENT, "action"), END),
    event("an unknown kind", kind="evnt"),
    event("an unknown action", action="Abdicate"),
    event("an unknown node", node="n9"),
    event("a negative seq", seq=-1),
    trace("a seq that does not rise", HEADER, EVENT, {**EVENT, "seq": 0}, {**END, "events": 2}),
    event("a wrong type", action=["NextTerm"]),
    event("a parameter that is missing", args={}),
    event("a parameter too many", args={"term": 1, "index": 0}),
    event("a parameter of another type", args={"term": "one"}),
    event("an observation of another type", shows={"currTerm": "one"}),
    event("an observation that the spec does not have", shows={"currentTerm": 1}),
    event("an observation below -1", shows={"committedIndex": -2}),
    event("a fraction", shows={"currTerm": 1.5}),
    trace("a number of many digits", HEADER, lines(EVENT).replace(b'"term": 1', b'"term": ' + b"9" * 400), END),
    event("a number of more than 64 bits", args={"term": 2**63}),
    event("a name of many letters", action="A" * 1000),
    event("nested deeply", shows={"log": nested(40)}),
    trace("nested very deeply", HEADER, lines(EVENT).replace(b'"sent": []', b'"sent": ' + b"[" * 100_000), END),
    event("a set that is none", shows={"futures": {"#set": 3}}),
    event("a message without an address", sent=[{"kind": "request"}]),
    event("an observation with parameters", action="Observe"),
    trace("a line of 17 million bytes", HEADER, b" " * 17_000_000),
    *(
        Case(
            "Traces",
            f"{kind}, which only `check` imports itself",
            {file: (CAPTURED / file).read_bytes()},
            ("view", file),
        )
        for kind, file in (
            ("a recording", "dledger-0.2.7-figure8.ndjson"),
            ("a log of DLedger", "dledger-0.2.7-figure8.log"),
        )
    ),
    trace("a header without a system", without(HEADER, "system"), EVENT, END),
    header("a constant that must be there", constants={"StepwiseElections": True}),
    constants("a number for a boolean", Fifo=1),
    Case("Traces", "a file that is not there", {}, ("check", "nowhere.ndjson")),
    Case("Traces", "a folder without traces", {}, ("check", ".")),
    Case("Traces", "an empty word", {}, ("check", "")),
]

# ---- Recordings ----


def recording(name: str, change: Callable[[list[dict[str, Any]]], Any]) -> Case:
    recorded = [json.loads(text) for text in (CAPTURED / "dledger-0.2.7-figure8.ndjson").read_text().splitlines()]
    changed = change(recorded)
    content = changed if isinstance(changed, bytes) else lines(*recorded)
    return Case("Recordings", name, {"r.ndjson": content}, ("import", "r.ndjson", "-o", "t.ndjson"))


def first(recorded: list[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    return next(line for line in recorded if wanted.items() <= line.items())


RECORDINGS = [
    recording("an empty recording", lambda recorded: b""),
    recording("a recording that is cut", lambda recorded: lines(*recorded)[:50_000]),
    recording("a line that is missing", lambda recorded: recorded.pop(7)),
    recording("a version that the spec does not know", lambda recorded: recorded[0].update(version="0.4.0")),
    recording("another recording format", lambda recorded: recorded[0].update(format="dledger-capture/2")),
    recording("an unknown kind of line", lambda recorded: first(recorded, kind="start").update(kind="begin")),
    recording("an unknown field of a line", lambda recorded: first(recorded, kind="store").update(colour="red")),
    recording("a field of a line that is missing", lambda recorded: first(recorded, kind="send_push").pop("disp")),
    recording("an index of many digits", lambda recorded: first(recorded, kind="store").update(index=10**30)),
    recording("a node that the header does not name", lambda recorded: first(recorded, kind="role").update(node="n7")),
    recording("an answer to no request", lambda recorded: first(recorded, kind="resp_push").update(mid=99_999)),
    recording("a log that contradicts itself", lambda recorded: first(recorded, kind="store")["pre"].update(end=5)),
    recording("the end counts other lines", lambda recorded: recorded[-1]["counts"].update(store=1)),
    recording(
        "a state that contradicts the lines above",
        lambda recorded: first(recorded, kind="recv_push")["st"].update(term=9),
    ),
    recording("a time that falls", lambda recorded: recorded[7].update(t_ms=0.0)),
    recording("a line of another life of its node", lambda recorded: first(recorded, kind="role").update(inc=2)),
    recording("a trace, which needs no import", lambda recorded: WHOLE),
    Case("Recordings", "a trace over its recording", {"t.ndjson": b""}, ("import", "t.ndjson", "-o", "t.ndjson")),
]

# ---- Files of recorders ----


def _node_files() -> Files:
    """Return what recorders of three servers would have written."""
    with tempfile.TemporaryDirectory() as folder:
        recording = CAPTURED.parent / "hashicorp" / "raft-1.7.3-quiet.ndjson"
        return {path.name[:2] + ".ndjson": path.read_bytes() for path in split(recording, Path(folder))}


NODE_FILES = _node_files()


def recorder(name: str, change: Callable[[list[bytes]], Any]) -> Case:
    texts = NODE_FILES["n2.ndjson"].splitlines(keepends=True)
    changed = change(texts)
    content = changed if isinstance(changed, bytes) else b"".join(texts)
    words = ("merge", "n1.ndjson", "n2.ndjson", "n3.ndjson", "-o", "group.ndjson")
    return Case("Files of recorders", name, {**NODE_FILES, "n2.ndjson": content}, words)


def line_of(texts: list[bytes], word: bytes) -> int:
    return next(number for number, text in enumerate(texts) if word in text)


def replaced(texts: list[bytes], word: bytes, before: bytes, after: bytes) -> None:
    number = line_of(texts, word)
    assert before in texts[number]
    texts[number] = texts[number].replace(before, after, 1)


def later(texts: list[bytes], seconds: float = 0.02, first: int = 0) -> None:
    """Let the clock of the node be fast from a line on."""
    for number, text in enumerate(texts[first:], start=first):
        tree = json.loads(text)
        texts[number] = lines({**tree, "at": round(tree["at"] + seconds, 6)})


RECORDERS = [
    recorder("an empty file of a node", lambda texts: b""),
    recorder("a file of no recorder", lambda texts: b"hello\n"),
    recorder("a file that begins in the middle", lambda texts: b"".join(texts[5:])),
    recorder("a line of a recorder that is cut", lambda texts: texts.insert(5, texts[5][:40] + b"\n")),
    recorder("a field that a recorder must write", lambda texts: replaced(texts, b'"recv"', b'"term":', b'"period":')),
    recorder("a node of another file", lambda texts: replaced(texts, b'"recv"', b'"node":"n2"', b'"node":"n4"')),
    recorder("two files of one node", lambda texts: NODE_FILES["n1.ndjson"]),
    recorder(
        "servers with other settings",
        lambda texts: replaced(texts, b'"header"', b'"trailing_logs":10240', b'"trailing_logs":1'),
    ),
    recorder("a clock that goes back", lambda texts: later(texts, -0.5, 9)),
    recorder("clocks that differ, as on several hosts", later),
]

# ---- Fault plans, mappings, specs ----


def plan(name: str, content: str, file: str = "plan.toml") -> Case:
    return Case("Fault plans", name, {file: content.encode()}, ("simulate", "--plan", file, "-o", "out"))


PLANS = [
    plan("a plan that is no TOML", "nodes: 3\n"),
    plan("a plan that is no JSON", "nodes = 3\n", "plan.json"),
    plan("an unknown field of a plan", "speed = 3\n"),
    plan("too many nodes", "nodes = 9\n"),
    plan("a probability above 1", "loss = 1.5\n"),
    plan("a probability that is none", 'loss = "often"\n'),
    plan("probabilities that make more than 1", "client = 0.9\ncrash = 0.9\n"),
    plan("a flaw that a plan does not know", 'flaws = ["Speed"]\n'),
    plan("batches without the map they need", 'features = ["Batches"]\n'),
    plan("a key of a plan twice", "nodes = 3\nnodes = 4\n"),
    Case("Fault plans", "a plan that is not there", {}, ("simulate", "--plan", "sunny", "-o", "out")),
]

SERVICE: Files = {
    "LockService.tla": (LOCK_SERVICE / "LockService.tla").read_bytes(),
    "LockService.cfg": (LOCK_SERVICE / "LockService.cfg").read_bytes(),
    "mapping.toml": (LOCK_SERVICE / "mapping.toml").read_bytes(),
    "s.log": b'{"what":"locked","client":"a"}\n',
}
CHECK = ("check", "--spec", "LockService.tla", "--cfg", "LockService.cfg", "--mapping", "mapping.toml", "s.log")


def own(group: str, name: str, exit_code: int = 2, **files: bytes | str) -> Case:
    given = {
        {"spec": "LockService.tla", "cfg": "LockService.cfg", "mapping": "mapping.toml", "log": "s.log"}[key]: (
            content.encode() if isinstance(content, str) else content
        )
        for key, content in files.items()
    }
    return Case(group, name, {**SERVICE, **given}, CHECK, exit_code)


def changed(before: bytes, after: bytes) -> bytes:
    return SERVICE["LockService.tla"].replace(before, after, 1)


OWN = [
    own("Mappings", "no TOML in a mapping", mapping="kind: what\n"),
    own("Mappings", "an unknown field of a mapping", mapping='kind = "what"\nspeed = 3\n[lines]\n'),
    own("Mappings", "a mapping without kind", mapping="[lines]\n"),
    own("Mappings", "a mapping that is not UTF-8", mapping=b'kind = "what"\n# caf\xe9\n[lines]\n'),
    own("Mappings", "a mapping that is nested deeply", mapping="kind = " + "[" * 5_000 + "\n"),
    own("Mappings", "a line that is neither action nor ignored", mapping='kind = "what"\n[lines.locked]\n'),
    own("Logs under a mapping", "a line of the log that is no JSON", log="locked by a\n"),
    own("Logs under a mapping", "a kind of line that the mapping does not have", log='{"what":"burnt"}\n'),
    own("Logs under a mapping", "a field that the mapping names is missing", log='{"what":"locked"}\n'),
    own("Specs", "no TLA+", spec="locked by a\n"),
    own("Specs", "a name that is not defined", spec=changed(b"Init ==", b"Init == Begin /\\")),
    own("Specs", "a module that is not there", spec=changed(b"EXTENDS ", b"EXTENDS Nowhere, ")),
    own("Specs", "a spec that is not UTF-8", spec=changed(b"EXTENDS ", b"\\* caf\xe9\nEXTENDS ")),
    own("Specs", "no cfg", cfg="locked by a\n"),
    own("Specs", "a cfg that is not UTF-8", cfg=SERVICE["LockService.cfg"] + b"\\* caf\xe9\n"),
    own("Specs", "a value that is nested deeply", cfg="CONSTANT Client = " + "{" * 5_000 + "}" * 5_000 + "\n"),
    own("Specs", "a number of many digits in a cfg", cfg="CONSTANT Client = " + "9" * 6_000 + "\n"),
    own(
        "Specs",
        "a recursion that has no end",
        spec=changed(b"Init ==", b"RECURSIVE Deep(_)\nDeep(k) == Deep(k + 1)\nInit == Deep(0) /\\"),
        exit_code=3,
    ),
    own("Specs", "an unknown section of a cfg", cfg="INTI Init\nNEXT Next\n"),
    own("Specs", "a constant of the cfg without a value", cfg="CONSTANT Client = \nINIT Init\nNEXT Next\n"),
    own("Specs", "an invariant that is not defined", cfg=SERVICE["LockService.cfg"] + b"\nINVARIANT Nothing\n"),
]

# ---- Manifests: no command takes one, but who adds a model or a recording writes it ----


def _load() -> None:
    path = Path(sys.argv[1])
    try:
        (load_recordings if path.name == "recordings.toml" else load_manifest)(path)
    except (ManifestError, RecordingsError) as error:
        sys.stderr.write(f"lockstep: {error}\n")
        sys.exit(2)


def manifest(name: str, content: str, file: str = "models.toml", more: Sequence[str] = ()) -> Case:
    files = {file: content.encode(), "M.tla": b"", "green/m.cfg": b"", **dict.fromkeys(more, b"")}
    return Case("Manifests", name, files, (file,), entry=_load)


MODEL = """[[model]]
name = "m"
module = "M"
mode = "check"
tier = "quick"
result = "holds"
distinct = 1
generated = 1
depth = 1
budget_seconds = 9
"""

RECORDED = '[[recording]]\nname = "r"\nfile = "captured/x.ndjson"\nverdict = "holds"\n'

MANIFESTS = [
    manifest("no TOML in a manifest", "model: m\n"),
    manifest("an unknown field of a model", MODEL + "speed = 3\n"),
    manifest("a field of a model that is missing", MODEL.replace('tier = "quick"\n', "")),
    manifest("a model twice", MODEL + MODEL),
    manifest("a model that holds without pins", MODEL.replace("distinct = 1\n", "")),
    manifest("a negative count", MODEL.replace("distinct = 1", "distinct = -1")),
    manifest("an unknown verdict of a recording", RECORDED.replace("holds", "good"), "recordings.toml"),
    manifest("an unknown field of a recording", RECORDED + "speed = 3\n", "recordings.toml"),
    manifest("no list of recordings", "recording = 3\n", "recordings.toml"),
    manifest("a cfg without an entry", MODEL, more=("forgotten.cfg",)),
    manifest("a recording without an entry", RECORDED, "recordings.toml", ("captured/x.ndjson", "captured/y.ndjson")),
    manifest("an entry without its recording", RECORDED, "recordings.toml"),
]

# ---- Logs ----

LOG = (CAPTURED / "dledger-0.2.7-figure8.log").read_bytes()


def log(name: str, content: bytes, *options: str, exit_code: int = 2) -> Case:
    return Case("Logs", name, {"d.log": content}, ("import", "d.log", "-o", "t.ndjson", *options), exit_code)


def said(before: bytes, after: bytes) -> bytes:
    """Return the log with the first of these words replaced."""
    assert before in LOG
    return LOG.replace(before, after, 1)


LOGS = [
    log("a line of a log that is cut", LOG[: LOG.index(b"\n") + 1] + b"981.002 seq<28 [n2/1] IN\n"),
    log(
        "a line that was cut as its process was killed, and that the next one went on with",
        said(b"VoteResponse@357f43fb\n", b"VoteRes"),
    ),
    log("a time that is none", said(b"980.786 seq<27 [n2/1]", b"2026-02-30 10:00:00 [n2/1]")),
    log("a log of two nodes that does not distinguish them", re.sub(rb"\[n\d/\d\] ", b"", LOG)),
    log("a log that is not UTF-8", said(b"[INCREASE_TERM]", b"[INCREASE\xff]")),
    log("a log of no node", b"1.0 seq<1 [-] INFO [main] Main - hello\n"),
    log("a log that begins after a restart", LOG[LOG.index(b"7727.732 ") :]),
    log("a member that the log does not mention", said(b"memberNum=3", b"memberNum=5")),
    log("a term of many digits", said(b"from 0 to 1", b"from 0 to 1" + b"0" * 30)),
    log("a log of an unknown version", LOG, "--logged-version", "0.1"),
    log(
        "a committed index that nothing leads to",
        said(b"ledgerEnd=3 committed=2", b"ledgerEnd=3 committed=9"),
        exit_code=3,
    ),
    log(
        "an end of the log far away", said(b"ledgerEnd=2 committed=1", b"ledgerEnd=999999999 committed=1"), exit_code=3
    ),
]


AUTHORS = [
    Case(
        "Mistakes of an author",
        each.name,
        {"M.tla": each.tla.encode(), "M.cfg": each.cfg.encode()},
        ("graph", "--spec", "M.tla", "-o", "drawn.svg"),
    )
    for each in MISTAKES
]

CASES = [*TRACES, *RECORDINGS, *RECORDERS, *LOGS, *PLANS, *OWN, *AUTHORS, *MANIFESTS]


def all_outputs() -> list[CommandOutput]:
    """Run every case, each in a folder of its own."""
    found = []
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            found.append(run(case, Path(folder)))
    return found


def page(found: Sequence[CommandOutput]) -> str:
    """Return docs/errors.md."""
    lines_ = [*PREFACE.splitlines(), "", *contents(found), ""]
    group = ""
    for case, said in zip(CASES, found, strict=True):
        if case.group != group:
            group = case.group
            lines_ += [f"## {group}", ""]
        code = "" if said.exit_code == 2 else f" (exit code {said.exit_code})"
        shown = [text if len(text) <= 200 else text[:200] + " ..." for text in said.text.splitlines()]
        lines_ += [f"{case.name}{code}:", "", *(f"    {text}".rstrip() for text in shown), ""]
    return "\n".join(lines_).rstrip() + "\n"


def contents(found: Sequence[CommandOutput]) -> list[str]:
    """The sections of the page by the codes of the messages in them."""
    sections: dict[str, list[str]] = {}
    for case, said in zip(CASES, found, strict=True):
        for code in re.findall(r"\bLS\d{3}\b", said.text) or ["none"]:
            link = f"[{case.group}](#{case.group.lower().replace(' ', '-')})"
            sections.setdefault(code, []).append(link)
    titles = {rule.code: rule.title for rule in ALL_CODES} | {"none": "the message alone says what is wrong"}
    rows = [f"| {code} | {titles[code]} | {', '.join(dict.fromkeys(sections[code]))} |" for code in sorted(sections)]
    return ["| code | what it means | examples |", "| --- | --- | --- |", *rows]


PREFACE = """# Error messages for bad input

Malformed input is not checked; its verdict is *malformed*. The message names the file, the line and the field, the exit
code is 2, and nothing is written. The tests run every case below (`tests/scripts/malformed.py`), and this page shows
what the commands print. `lockstep explain CODE` explains a code.

If a trace was written with another version of the spec, `lockstep check` says so in a note (LS302), and checks the
trace against the spec that is installed. Actions, parameters and values are compared one by one, so the verdict is
about the installed spec. An action, a parameter or a field that the installed version does not know is malformed; a
step that it does not allow is a violation.
"""

if __name__ == "__main__":
    sys.stdout.write(page(all_outputs()))
