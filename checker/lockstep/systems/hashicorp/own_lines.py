"""Lines that hashicorp/raft writes through hclog, in text or in JSON, as Consul, Nomad and Vault log them.

The messages are those of v1.1 to v1.8, and those that the library wrote before, without hclog. A logger of the library
is called `raft`, or ends so: `agent.server.raft`, `nomad.raft`, `storage.raft`, `core.raft`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from lockstep.logs.mapping import Text
from lockstep.logs.text_formats import line_splitter
from lockstep.systems.logged_facts import Fact, OwnLogs, ReadLine, fact

_TEXT = line_splitter(Text(format="hclog"))
#: The server that a message names as its own: `%v` of a Raft is `Node at ADDRESS [STATE]`.
_SELF = re.compile(r"Node at (\S+) \[")
#: A process that is killed may leave a line without its end, and the next one writes behind it.
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*\[[A-Z]{4,5}\] ", re.ASCII)
_MIN_TEXT = 20
#: FileSnapshotStore calls a snapshot TERM-INDEX-MILLISECONDS.
_SNAPSHOT = re.compile(r"(\d+)-(\d+)-\d+(?:\.tmp)?$", re.ASCII)
#: The snapshot store has a logger of its own, `agent.server.snapshot`.
_CREATES = "creating new snapshot"
#: The programs by the first word of their loggers; more than one on a host are members of different groups.
_PROGRAMS = {"agent": "Consul", "nomad": "Nomad", "core": "Vault", "storage": "Vault", "raft": "", "snapshot": ""}
#: The fields with the address of a leader, in messages that have nothing else there.
_LEADER = ("leader-address", "last-leader-addr", "last-leader")
#: Addresses that any server may have for its own.
_ANY_ADDRESS = re.compile(r"(?:\[::\]|0\.0\.0\.0|127\.0\.0\.1|\[::1\]|localhost|)(?::8\d{3})?")
#: How lines begin that were written without hclog, and their texts by the messages of today.
_BEFORE_HCLOG = re.compile(
    r"\s*\d{4}/\d\d/\d\d \d\d:\d\d:\d\d \[[A-Z]+\]\s+(?P<logger>raft|snapshot): (?P<text>.*)", re.ASCII
)
_OLD_TEXTS = {
    "entering candidate state": r"Node at \S+ \[\w+\] entering Candidate state in term (?P<term>\d+)",
    "entering follower state": r"Node at \S+ \[\w+\] entering Follower state",
    "election won": r"Election won\. Tally: \d+",
    "vote granted": r"Vote granted from (?P<from>\S+) in term (?P<term>\d+)",
    "duplicate requestVote for same term": r"Duplicate RequestVote for same term: (?P<term>\d+)",
    "failed to get previous log": r"Failed to get previous log: \d+ .*\(last: (?P<last_index>\d+)\)",
    "clearing log suffix": r"Clearing log suffix from (?P<from>\d+) to \d+",
    "starting snapshot up to": r"Starting snapshot up to (?P<index>\d+)",
    "snapshot complete up to": r"Snapshot to (?P<index>\d+) complete",
    "creating new snapshot": r"Creating new snapshot at (?P<path>\S+)",
    "restored from snapshot": r"Restored from snapshot (?P<last_term>\d+)-(?P<last_index>\d+)-\d+",
    "Installed remote snapshot": r"Installed remote snapshot",
}
_OLD = {message: re.compile(text, re.ASCII) for message, text in _OLD_TEXTS.items()}

#: A term or an index, which Go has as uint64.
_NUMBER = re.compile(r"\d{1,20}", re.ASCII)

_Fields = Mapping[str, Any]


class RaftLines:
    """Reads the lines of one server.

    Of the lines of goroutines beside the main loop it takes nothing whose order matters: a snapshot of the server's own
    may be logged after one that it installed.
    """

    def __init__(self) -> None:
        """Begin anywhere in a log."""
        self._term: int | None = None
        self._own: int | None = None
        self._received: int | None = None

    def read(self, text: str) -> ReadLine:
        """Return what a line says."""
        fields = _json(text) if text.startswith("{") else _before_hclog(text) or _TEXT(text.strip())
        if not fields or "message" not in fields:
            return ReadLine("no hclog line", is_own=False)
        logger = str(fields.get("logger", ""))
        message = str(fields["message"])
        if logger.rpartition(".")[2] not in (("raft", "snapshot") if message == _CREATES else ("raft",)):
            return ReadLine(f"logger {logger or 'without a name'}", is_own=False)
        if _STAMP.search(text, _MIN_TEXT):
            return ReadLine("two lines in one", (fact("Starts"),))
        reads = _READERS.get(message)
        try:
            facts = () if reads is None else reads(self, fields)
        except (KeyError, ValueError):
            return ReadLine(f"{message} (without its numbers)")
        named = _SELF.search(text)
        others = tuple(str(fields[each]) for each in _LEADER if fields.get(each))
        name, program = named[1] if named else "", logger.partition(".")[0]
        name = "" if _ANY_ADDRESS.fullmatch(name) else name
        return ReadLine(message, facts, name=name, others=others, group=_PROGRAMS.get(program, program))

    # ---- Processes and elections ----

    def initial(self, fields: _Fields) -> tuple[Fact, ...]:
        """api.go, NewRaft. A server whose stores are empty has no configuration."""
        empty = (fact("EndsAt", end=0),) if _number(fields, "index") == 0 else ()
        return fact("Starts"), *empty

    def restored(self, fields: _Fields) -> tuple[Fact, ...]:
        """api.go, restoreSnapshot."""
        index = _number(fields, "last-index")
        return fact("StartsFrom", index=index), fact("Chose", index=index, term=_number(fields, "last-term"))

    def candidate(self, fields: _Fields) -> tuple[Fact, ...]:
        """raft.go, runCandidate: the term that it will ask for votes in."""
        self._term = _number(fields, "term")
        return fact("Resigns"), fact("Reaches", term=self._term - 1)

    def follower(self, _fields: _Fields) -> tuple[Fact, ...]:
        """raft.go, runFollower."""
        return (fact("Resigns"),)

    def won(self, fields: _Fields) -> tuple[Fact, ...]:
        """raft.go, runCandidate. Before v1.6 the line has no term: it is that of the candidacy."""
        term = _number(fields, "term") if "term" in fields else self._term
        return () if term is None else (fact("Leads", term=term),)

    def granted(self, fields: _Fields) -> tuple[Fact, ...]:
        """raft.go, runCandidate, at level DEBUG."""
        return (fact("Gets", term=_number(fields, "term"), voter=str(fields["from"])),)

    def voted(self, fields: _Fields) -> tuple[Fact, ...]:
        """raft.go, requestVote: a server that has voted in a term is in it."""
        return (fact("Reaches", term=_number(fields, "term")),)

    # ---- Logs and snapshots ----

    def ends(self, fields: _Fields) -> tuple[Fact, ...]:
        """raft.go, appendEntries, requestVote, requestPreVote: the end of the log or of the snapshot."""
        return (fact("EndsAt", end=_number(fields, "last-index")),)

    def cuts(self, fields: _Fields) -> tuple[Fact, ...]:
        """raft.go, appendEntries."""
        return (fact("Cuts", **{"from": _number(fields, "from")}),)

    def snapshot_begins(self, fields: _Fields) -> tuple[Fact, ...]:
        """snapshot.go, takeSnapshot: up to where the FSM has applied."""
        self._own = _number(fields, "index")
        return (fact("Commits", index=self._own),)

    def snapshot_ends(self, fields: _Fields) -> tuple[Fact, ...]:
        """snapshot.go, takeSnapshot."""
        return (fact("Saves", index=_number(fields, "index")),)

    def snapshot_named(self, fields: _Fields) -> tuple[Fact, ...]:
        """file_snapshot.go, Create: of a snapshot of its own, or of one that it receives."""
        found = _SNAPSHOT.search(str(fields["path"]))
        if found is None:
            return ()
        term, index = int(found[1]), int(found[2])
        if index != self._own:
            self._received = index
        return (fact("Chose", index=index, term=term),)

    def installed(self, _fields: _Fields) -> tuple[Fact, ...]:
        """raft.go, installSnapshot; the index is that of the snapshot created last which is not the server's own."""
        index, self._received = self._received, None
        return () if index is None else (fact("Installs", index=index),)


_READERS: dict[str, Callable[[RaftLines, _Fields], tuple[Fact, ...]]] = {
    "initial configuration": RaftLines.initial,
    "restored from snapshot": RaftLines.restored,
    "entering candidate state": RaftLines.candidate,
    "entering follower state": RaftLines.follower,
    "election won": RaftLines.won,
    "vote granted": RaftLines.granted,
    "duplicate requestVote for same term": RaftLines.voted,
    "failed to get previous log": RaftLines.ends,
    "rejecting vote request since our last index is greater": RaftLines.ends,
    "rejecting pre-vote request since our last index is greater": RaftLines.ends,
    "clearing log suffix": RaftLines.cuts,
    "starting snapshot up to": RaftLines.snapshot_begins,
    "snapshot complete up to": RaftLines.snapshot_ends,
    _CREATES: RaftLines.snapshot_named,
    "Installed remote snapshot": RaftLines.installed,
}


def _number(fields: _Fields, name: str) -> int:
    """Return a term or an index, text or a number of JSON; raises KeyError where it is missing, ValueError if none."""
    text = str(fields[name])
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(text)
    return int(text)


def _before_hclog(text: str) -> dict[str, Any] | None:
    """Return the fields of a line that was written without hclog, None where it is none; the message is today's."""
    line = _BEFORE_HCLOG.match(text)
    if line is None:
        return None
    for message, expression in _OLD.items():
        if found := expression.match(line["text"]):
            fields = {name.replace("_", "-"): value for name, value in found.groupdict().items()}
            return {"message": message, "logger": line["logger"]} | fields
    return {"message": line["text"].partition(":")[0], "logger": line["logger"]}


def _json(text: str) -> dict[str, Any] | None:
    """Return the fields of a line of hclog's JSON by the names that its text has."""
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(tree, dict) or not isinstance(tree.get("@message"), str):
        return None
    head = {"message": tree["@message"], "logger": tree.get("@module", "")}
    return {name: value for name, value in tree.items() if not name.startswith("@")} | head


OWN_LOGS = OwnLogs(
    RaftLines,
    forgets_term=False,
    blind="votes below level DEBUG, and what is committed between two snapshots",
)
