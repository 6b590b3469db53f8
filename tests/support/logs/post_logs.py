"""Logs of a post office of two nodes, made up from random behaviours of its spec, and spoilt."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

from lockstep.tla.spec import Spec

POST = """---- MODULE Post ----
EXTENDS Integers, Sequences
CONSTANT Node
VARIABLES box, read
Letter == {[size |-> 1, kind |-> "card"], [size |-> 2, kind |-> "card"], [size |-> 2, kind |-> "parcel"]}
Init == box = [n \\in Node |-> <<>>] /\\ read \\in [Node -> {0, 3}]
Send(n, m, v) == n # m /\\ Len(box[m]) < 2 /\\ box' = [box EXCEPT ![m] = Append(@, v)] /\\ UNCHANGED read
Read(n) == /\\ box[n] # <<>>
           /\\ \\E more \\in {0, 2} : read' = [read EXCEPT ![n] = (@ + Head(box[n]).size + more) % 7]
           /\\ box' = [box EXCEPT ![n] = Tail(@)]
Lose(n) == box[n] # <<>> /\\ box' = [box EXCEPT ![n] = Tail(@)] /\\ UNCHANGED read
Handle(S) == \\E n \\in S : LET k == n IN Read(k) \\/ Lose(k)
Next == (\\E <<n, m>> \\in Node \\X Node, v \\in Letter : Send(n, m, v)) \\/ Handle(Node)
Observe(n) == [read |-> read[n], waiting |-> Len(box[n])]
Middle == box \\in [Node -> {<<>>, <<[size |-> 1, kind |-> "card"]>>}] /\\ read \\in [Node -> {0, 6}]
Low == \\A n \\in Node : read[n] < 6
Few == \\A n \\in Node : Len(box[n]) < 2
Fresh == /\\ \\E n \\in Node : read[n] = 0
         /\\ [][\\A n \\in Node : read[n]' >= read[n]]_read
         /\\ [](\\A n \\in Node : read[n] # 5)
====
"""
CFG = """CONSTANTS Node = {a, b}  a = a  b = b
INIT Init
NEXT Next
INVARIANTS Low Few
PROPERTY Fresh
"""
MAPPING = """kind = "kind"
files = "together"
node = { file = '^(\\w)' }
time = { field = "at", unit = "ms" }
skew = "10 ms"
[hidden]
Send = 1
Lose = 1
[lines.Send]
action = "Send"
args.n = { node = true }
args.m = { field = "m", optional = true }
args.v.parts.size = { field = "size", optional = true }
args.v.parts.kind = { field = "sort", optional = true }
shows.read = { field = "read", optional = true }
shows.waiting = { field = "waiting", optional = true }
sends = { field = "id", optional = true }
[[lines.Read]]
when = { late = true }
action = "Read"
args.n = { node = true }
shows.read = { field = "read", optional = true }
shows.waiting = { field = "waiting", optional = true }
delay = "15 ms"
[[lines.Read]]
when = { sure = false }
either = [
  { action = "Read", args = { n = { node = true } }, shows = { read = "read" } },
  { shows = { read = "read" } },
]
[[lines.Read]]
when = { twice = true }
steps = [
  { action = "Read", args = { n = { node = true } } },
  { action = "Lose", args = { n = { node = true } }, shows = { waiting = "waiting" } },
]
[[lines.Read]]
action = "Read"
args.n = { node = true }
shows.read = { field = "read", optional = true }
shows.waiting = { field = "waiting", optional = true }
receives = { field = "id", optional = true }
[lines.Lose]
action = "Lose"
shows.waiting = { field = "waiting", optional = true }
[lines.seen]
shows = { read = "read" }
"""

#: Fields that distinguish the kinds of lines of a Read.
_READS = ({}, {}, {"late": True}, {"sure": False}, {"twice": True})


def write_post(folder: Path, mapping: str = MAPPING) -> None:
    """Write the spec, its cfg and a mapping."""
    for name, text in (("Post.tla", POST), ("Post.cfg", CFG), ("mapping.toml", mapping)):
        (folder / name).write_text(text)


def write_logs(spec: Spec, folder: Path, seed: int) -> list[Path]:
    """Write the logs of a random behaviour, a file of each node; most of them are spoilt."""
    chooses = random.Random(seed)
    logs = _logs(spec, chooses)
    for _ in range(chooses.choice([0, 1, 2, 3])):
        _spoil(logs[chooses.choice(list(logs))], chooses)
    folder.mkdir()
    for node, lines in logs.items():
        (folder / f"{node}.log").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return sorted(folder.iterdir())


def _logs(spec: Spec, chooses: random.Random) -> dict[str, list[dict[str, Any]]]:
    logs: dict[str, list[dict[str, Any]]] = {"a": [], "b": []}
    state = chooses.choice(list(spec.initial_states()))
    fast_by = {"a": 0, "b": chooses.randrange(11)}
    unwritten, sent = Counter[str](), list[str]()
    for moment in range(1, chooses.randrange(3, 6)):
        name, args, state = chooses.choice(list(spec.successors(state)))
        if name != "Read" and not unwritten[name] and chooses.random() < 0.35:
            unwritten[name] += 1
            continue
        unwritten.clear()
        node = args["n"].name
        seen = spec.evaluate("Observe", state, args["n"]).d
        line = {"kind": name, "at": 10 * moment + fast_by[node], "read": seen["read"], "waiting": seen["waiting"]}
        if name == "Send":
            letter = args["v"].d
            line |= {"m": args["m"].name, "size": letter["size"], "sort": letter["kind"]}
            if chooses.random() < 0.3:
                line["id"] = f"letter {moment}"
                sent.append(line["id"])
        elif name == "Read":
            line |= chooses.choice(_READS)
            if sent and line.keys().isdisjoint({"late", "sure", "twice"}) and chooses.random() < 0.5:
                line["id"] = sent.pop()
        kept = {"kind", "at", "id", "late", "sure", "twice"} | ({"read", "waiting"} if name == "Read" else set())
        logs[node].append({key: value for key, value in line.items() if key in kept or chooses.random() < 0.7})
    return logs


def _spoil(lines: list[dict[str, Any]], chooses: random.Random) -> None:
    """Change a value, swap two lines, or drop one."""
    if not lines:
        return
    place = chooses.randrange(len(lines))
    match chooses.randrange(3):
        case 0:
            key = chooses.choice(["read", "waiting", "at"])
            if key in lines[place]:
                lines[place][key] += chooses.choice([-20, 20]) if key == "at" else 1
        case 1:
            lines[place - 1], lines[place] = lines[place], lines[place - 1]
        case _:
            if "id" not in lines[place]:
                del lines[place]
