"""Lies that are planted in a recording of hashicorp/raft: each says what did not happen, or leaves out what did.

A lie is planted only where it has a recorded consequence: where the lines, with it, describe no behaviour of the spec.
Three events leave no trace, so that a recording without them, or with them changed, is that of another behaviour:

- NewRaft writes the term that it has just read from the store. The write changes nothing, and is no step of the spec.
- A command is applied, and its process ends before it applies another, reads its FSM, or restores a snapshot. Then the
  command may as well have waited in the queue of the FSM, which is lost with the process.
- A heartbeat has no commit index, so none can be one entry further.

Whether a line is one of these follows from the recording alone, never from what a check says of the lie.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

Lines = list[dict[str, Any]]

#: Plants a lie at a line, and where the lines below have the same; returns whether it could.
Lie = Callable[[Lines, int], bool]


def _kind_with(kind: str, **fields: Any) -> Callable[[dict[str, Any]], bool]:
    return lambda line: line["kind"] == kind and all(line.get(name) == value for name, value in fields.items())


def _of_call(lines: Lines, line: dict[str, Any], *kinds: str) -> Lines:
    copies = (line.get("copy", 0), None)
    same = [each for each in lines if each.get("rpc") == line["rpc"] and each["kind"] in kinds]
    return [each for each in same if each.get("copy") in copies or "send" in kinds]


def _left_out(lines: Lines, place: int) -> bool:
    del lines[place]
    return True


def _term_left_out(lines: Lines, place: int) -> bool:
    return lines[place]["by"] != "NewRaft" and _left_out(lines, place)


def _apply_left_out(lines: Lines, place: int) -> bool:
    return _shows_fsm_later(lines, place) and _left_out(lines, place)


def _shows_fsm_later(lines: Lines, place: int) -> bool:
    """Return whether a line below shows the FSM of the same life of a server."""
    life = lines[place]["node"], lines[place]["inc"]
    later = [line for line in lines[place + 1 :] if (line.get("node"), line.get("inc")) == life]
    return any(line["kind"] in ("fsm_apply", "fsm_snapshot", "fsm_restore", "final") for line in later)


def _term(lines: Lines, place: int) -> bool:
    lines[place]["value"] += 1
    return True


def _voted_for_another(lines: Lines, place: int) -> bool:
    others = [node for node in lines[0]["nodes"] if node != lines[place]["value"]]
    lines[place]["value"] = others[0]
    return True


def _granted(lines: Lines, place: int) -> bool:
    if lines[place]["body"]["granted"]:
        return False
    for line in [lines[place], *_of_call(lines, lines[place], "reply_recv")]:
        line["body"]["granted"] = True
    return True


def _success(lines: Lines, place: int) -> bool:
    now = not lines[place]["body"]["success"]
    for line in [lines[place], *_of_call(lines, lines[place], "reply_recv")]:
        line["body"]["success"] = now
    return True


def _commit(lines: Lines, place: int) -> bool:
    body = lines[place]["body"]
    if not body["prev_index"] and not body["entries"]:
        return False
    for line in _of_call(lines, lines[place], "send", "recv"):
        line["body"]["commit"] += 1
    return True


def _stored_elsewhere(lines: Lines, place: int) -> bool:
    for entry in lines[place]["entries"]:
        entry["i"] += 1
    return True


def _stored_term(lines: Lines, place: int) -> bool:
    lines[place]["entries"][-1]["t"] += 1
    return True


def _applied_elsewhere(lines: Lines, place: int) -> bool:
    lines[place]["i"] += 1
    return True


def _applied_value(lines: Lines, place: int) -> bool:
    lines[place]["v"] = "never written"
    return True


#: Each lie, and the lines that it can be planted in.
LIES: dict[str, tuple[Callable[[dict[str, Any]], bool], Lie]] = {
    "a term is written one too high": (_kind_with("stable_set", key="CurrentTerm"), _term),
    "a term is not written": (_kind_with("stable_set", key="CurrentTerm"), _term_left_out),
    "the term of a vote is not written": (_kind_with("stable_set", key="LastVoteTerm"), _left_out),
    "the candidate of a vote is not written": (_kind_with("stable_set", key="LastVoteCand"), _left_out),
    "a vote is written for another": (_kind_with("stable_set", key="LastVoteCand"), _voted_for_another),
    "a refused vote is granted": (_kind_with("respond", msg="RequestVote"), _granted),
    "AppendEntries is answered the other way": (_kind_with("respond", msg="AppendEntries"), _success),
    "a request says that one entry more is committed": (_kind_with("send", msg="AppendEntries"), _commit),
    "entries are stored one place further": (_kind_with("store_logs"), _stored_elsewhere),
    "an entry is stored with another term": (_kind_with("store_logs"), _stored_term),
    "entries are not stored": (_kind_with("store_logs"), _left_out),
    "conflicting entries are not deleted": (_kind_with("delete_range", why="truncate"), _left_out),
    "a log is not compacted": (_kind_with("delete_range", why="compact"), _left_out),
    "a command is applied one place further": (_kind_with("fsm_apply"), _applied_elsewhere),
    "another command is applied": (_kind_with("fsm_apply"), _applied_value),
    "a command is not applied": (_kind_with("fsm_apply"), _apply_left_out),
    "a change of role is left out": (_kind_with("state"), _left_out),
    "a snapshot is not saved": (_kind_with("snapshot_saved"), _left_out),
}


def with_lie(lines: Lines, kind: str, chance: random.Random) -> Lines | None:
    """Return the lines with a lie at a random place after the first start, None where there is none for it."""
    is_of, lie = LIES[kind]
    first = next(place for place, line in enumerate(lines) if line["kind"] == "started")
    places = [place for place, line in enumerate(lines) if place > first and is_of(line)]
    chance.shuffle(places)
    for place in places:
        changed = copy.deepcopy(lines)
        if lie(changed, place):
            return renumbered(changed)
    return None


def renumbered(lines: Lines) -> Lines:
    """Return the lines numbered anew, and counted by the last of them."""
    numbered = [{**line, "seq": number} for number, line in enumerate(lines)]
    return [*numbered[:-1], {**numbered[-1], "events": len(numbered)}]
