"""Each server by the lines so far: its stores, its role, the commands that its FSM has applied."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lockstep.systems.hashicorp.recorded_calls import Tree, entry
from lockstep.systems.hashicorp.recording_lines import (
    DeleteRange,
    LeaderLine,
    LogEntry,
    Persisted,
    StableSet,
    StateLine,
    StoreLogs,
)
from lockstep.systems.hashicorp.recording_lookahead import Part
from lockstep.tla.values.kinds import Value


@dataclass(slots=True)
class RecordedServer:
    """A server by what was recorded.

    `last` is the copy of the log's end that it keeps: index and term of the last entry that it stored, or started with.
    `leader` is "" where it knows none, and None where no line says whom it knows. `is_changing`: it begins
    or ends to lead, and its main loop has written one of role and leader, and not the other yet. `applied` are the
    spec's values where they are what was recorded.
    """

    name: str
    keys: dict[str, Any] = field(default_factory=lambda: {"CurrentTerm": 0, "LastVoteTerm": 0, "LastVoteCand": ""})
    log: dict[int, LogEntry] = field(default_factory=dict)
    last: tuple[int, int] = (0, 0)
    role: str = "Follower"
    leader: str | None = ""
    is_changing: bool = False
    applied: list[Tree | Value] = field(default_factory=list)

    def write(self, part: Part) -> None:
        """Apply a line."""
        match part:
            case StableSet():
                self.keys[part.key] = part.value
            case StoreLogs() if part.entries:
                for each in part.entries:
                    self.log.setdefault(each.i, each)  # the library deletes an entry before it stores another there
                self.last = part.entries[-1].i, part.entries[-1].t
                self.is_changing = False
            case DeleteRange():
                for index in range(part.min, part.max + 1):
                    self.log.pop(index, None)
            case StateLine() if part.state != "Shutdown":
                self.role = part.state
                self.is_changing = part.state == "Leader" and not self.leader
            case LeaderLine() if part.function != "Shutdown":
                self.leader = part.leader
                self.is_changing = self.role == "Leader" and not self.leader
            case _:
                pass

    def start(self, persisted: Persisted) -> None:
        """Start on what is in the stores."""
        self.keys = {name: getattr(persisted, name) for name in self.keys}
        self.log = {each.i: each for each in persisted.log}
        self.last = (persisted.log[-1].i, persisted.log[-1].t) if persisted.log else (0, 0)
        self.role, self.leader, self.is_changing, self.applied = "Follower", "", False, []

    def keys_shown(self) -> Tree:
        """Return the three keys as the spec has them."""
        return keys_shown(self.keys)

    def shown(self) -> Tree:
        """Return keys, role, known leader and the end of the log as the spec has them.

        One that is changing is between two lines of runCandidate or setState, which are one step of the spec.
        """
        is_shown = self.leader is not None and not self.is_changing
        return {
            **self.keys_shown(),
            "role": self.role,
            **({"leader": self.leader or None} if is_shown else {}),
            "lastLog": {"index": self.last[0], "term": self.last[1]},
        }


def keys_shown(keys: dict[str, Any]) -> Tree:
    """Return the three keys as the spec has them."""
    return {
        "currentTerm": keys["CurrentTerm"],
        "lastVoteTerm": keys["LastVoteTerm"],
        "lastVoteCand": keys["LastVoteCand"] or None,
    }


def log_shown(entries: dict[int, LogEntry]) -> Tree:
    """Return a whole log as the spec has it."""
    if not entries or sorted(entries) == list(range(1, len(entries) + 1)):
        return {"log": [entry(entries[index]) for index in sorted(entries)]}  # a sequence
    return {"log": {"#map": [[index, entry(entries[index])] for index in sorted(entries)]}}


def persisted_shown(persisted: Persisted) -> Tree:
    """Return what is in the stores as the spec has it, but for the snapshots."""
    keys = {name: getattr(persisted, name) for name in ("CurrentTerm", "LastVoteTerm", "LastVoteCand")}
    kept = {} if persisted.commit is None else {"storedCommit": persisted.commit}
    return {**keys_shown(keys), **log_shown({each.i: each for each in persisted.log}), **kept}
