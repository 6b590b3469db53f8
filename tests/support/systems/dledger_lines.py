"""Recordings for the tests of the importer: real ones, and lines that go on from a real beginning."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.support.places import ROOT

CAPTURED = ROOT / "traces" / "captured" / "dledger"
#: The recordings of the harness, which have votes, heartbeats and all that its logger can print. The others were merged
#: from what the recorders of traces/recorders wrote.
HARNESS_RECORDINGS = [
    path
    for path in sorted(CAPTURED.glob("*.ndjson"))
    if json.loads(path.read_text(encoding="utf-8").partition("\n")[0])["scenario"] != "merged"
]
FAULT_FREE = CAPTURED / "dledger-0.2.7-fault_free.ndjson"
FIGURE8 = CAPTURED / "dledger-0.2.7-figure8.ndjson"

Json = dict[str, Any]

#: The number of lines of fault_free that are taken over. n0 leads term 0, all hold the entries 0, 1, 2, and their
#: committed indexes are 2, 1, 1.
QUIET = 177


def lines_of(path: Path) -> list[Json]:
    return [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]


def encoded(lines: Iterable[Json]) -> Iterator[bytes]:
    return (json.dumps(line).encode() + b"\n" for line in lines)


def ended(lines: list[Json]) -> list[Json]:
    """Give the lines their seq, and the end line that counts them."""
    last = max(line.get("t_ms", 0.0) for line in lines)
    body = [{**line, "seq": seq, "t_ms": line.get("t_ms", last)} for seq, line in enumerate(lines)]
    end = {
        "seq": len(body),
        "t_ms": last,
        "kind": "end",
        "counts": dict(Counter(line["kind"] for line in body)),
    }
    return [*body, end]


class Continued:
    """The recording fault_free up to a moment of rest, and continued from there on: n0 leads, n1 is the follower."""

    def __init__(self) -> None:
        self.lines = lines_of(FAULT_FREE)[:QUIET]
        self.end = {"n0": 2, "n1": 2, "n2": 2}
        self.committed = {"n0": 2, "n1": 1, "n2": 1}
        self.marks = {"n0": 2, "n1": 2, "n2": 2}
        self.write_index = 3
        self.mid = 900

    def recording(self) -> Iterator[bytes]:
        return encoded(ended(self.lines))

    def add(self, kind: str, node: str, **fields: Any) -> int:
        """Add a line; return its number."""
        self.lines.append({"kind": kind, "node": node, "inc": 1, **fields})
        return len(self.lines)

    def store_state(self, node: str) -> Json:
        return {"begin": 0, "end": self.end[node], "endTerm": 0, "committed": self.committed[node]}

    def state(self, node: str) -> Json:
        role = "LEADER" if node == "n0" else "FOLLOWER"
        return {"role": role, "term": 0, "leader": "n0", **self.store_state(node)}

    def dispatcher(self, kind: str = "APPEND", compare: int = -1) -> Json:
        write = {"writeIndex": self.write_index, "term": 0, "pending": 0}
        return {"type": kind, "compareIndex": compare, **write}

    def entry(self, index: int) -> Json:
        known = {line["index"]: line["val"] for line in self.lines if line.get("op") == "appendAsLeader"}
        return {"index": index, "entryTerm": 0, "val": known.get(index, f"w{index}"), "pos": 53 * index}

    def append(self) -> int:
        """n0 appends an entry."""
        before = self.store_state("n0")
        self.end["n0"] += 1
        entry = self.entry(self.end["n0"])
        after = self.store_state("n0")
        number = self.add("store", "n0", op="appendAsLeader", ok=True, **entry, pre=before, st=after, by="net")
        self.mark("n0", self.end["n0"])
        return number

    def mark(self, peer: str, index: int, by: str = "net") -> int:
        previous, self.marks[peer] = self.marks[peer], index
        put = {"op": "put", "term": 0, "peer": peer, "index": index, "prev": previous}
        return self.add("watermark", "n0", **put, marks=dict(self.marks), by=by)

    def send(self, kind: str, index: int, commit: int | None = None, **disp: Any) -> Json:
        """n0 pushes to n1; return the fields of the push that both sides record."""
        self.mid += 1
        push = {"mid": self.mid, "type": kind, "leaderId": "n0", "remoteId": "n1", "term": 0}
        push |= self.entry(index) | {"commitIndex": self.committed["n0"] if commit is None else commit}
        self.add("send_push", "n0", **push, disp=self.dispatcher(**disp) | {"type": kind}, st=self.state("n0"))
        if kind == "APPEND" and index == self.write_index:
            self.write_index += 1
        return push

    def receive(self, push: Json, **fields: Any) -> None:
        self.add("recv_push", "n1", **push, st=self.state("n1"), **fields)

    def handler(self, op: str, push: Json, **fields: Any) -> int:
        which = {"q": "write", "index": push["index"]}
        if push["type"] != "APPEND":
            which = {"q": "ctrl", "type": push["type"]}
        if op == "take":
            fields = {"reqTerm": 0, "st": self.state("n1"), **fields}
        return self.add("handler", "n1", op=op, mid=push["mid"], **which, **fields)

    def store_entry(self, push: Json) -> int:
        before = self.store_state("n1")
        self.end["n1"] = push["index"]
        entry = {name: push[name] for name in ("index", "entryTerm", "val", "pos")}
        entry |= {"leaderTerm": 0, "leaderId": "n0"}
        states = {"pre": before, "st": self.store_state("n1")}
        return self.add("store", "n1", op="appendAsFollower", ok=True, **entry, **states, by="EntryHandler")

    def commit(self, node: str, index: int, by: str = "EntryHandler") -> int:
        before = self.store_state(node)
        self.committed[node] = index
        call = {"op": "updateCommittedIndex", "ok": True, "argTerm": 0, "argIndex": index, "currTerm": 0}
        states = {"pre": before, "st": self.store_state(node)}
        return self.add("store", node, **call, clamped=False, **states, by=by)

    def answer(self, push: Json, code: str, by: str = "EntryHandler") -> Json:
        answer = {name: push[name] for name in ("mid", "type", "index", "term")}
        answer |= {"code": code, "count": 1, "beginIndex": 0, "endIndex": self.end["n1"]}
        self.add("resp_push", "n1", **answer, to="n0", st=self.state("n1"), by=by)
        return answer

    def arrive(self, answer: Json, **fields: Any) -> int:
        return self.add("recv_resp_push", "n0", **answer, **{"from": "n1"}, disp=self.dispatcher(), **fields)

    def change(self, source: str, to: str, at: int, by: str, compare: int = -1) -> int:
        change = {"op": "changeState", "peer": "n1", "from": source, "to": to, "at": at}
        return self.add("dispatcher", "n0", **change, disp=self.dispatcher(source, compare), by=by)

    def replicate(self, index: int) -> int:
        """n0 pushes the entry, n1 stores it; return the line at which its answer arrives."""
        push = self.send("APPEND", index)
        self.receive(push)
        self.handler("enqueue", push)
        self.handler("take", push, done=False)
        self.store_entry(push)
        answer = self.answer(push, "SUCCESS")
        if push["commitIndex"] > self.committed["n1"]:
            self.commit("n1", push["commitIndex"])
        return self.arrive(answer)
