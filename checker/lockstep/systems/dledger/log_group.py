"""A group by its logs: who its members are, which process of theirs wrote each line, and whether the logs are whole.

A node that first starts is a candidate of term 0, and its log is empty. A process that finds no files writes no line
about that, so it is the first lines of a node that tell whether others stood above them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path

from lockstep.logs.log_lines import Thread
from lockstep.systems.dledger.log_lines import RECOVERY, RESTART, LogLine
from lockstep.systems.dledger.log_roles import ROLES, Roles

#: What only a leader writes.
_LEADING = ("change_state", "do_compare", "do_truncate", "dispatcher_error", "retry")


@dataclass(frozen=True, slots=True)
class Group:
    """The nodes of a group, and all lines of each of its logs; whether these tell which process wrote them."""

    nodes: tuple[str, ...]
    logs: list[list[LogLine]]
    tells_processes: bool

    def threads(self, kinds: Sequence[str]) -> list[Thread]:
        """Return the lines of some kinds of each log, with one more where a process starts again."""
        return [Thread(lines[0].source, list(_with_restarts(lines, kinds))) for lines in self.logs]


def group_of(logs: Sequence[list[LogLine]]) -> Group:
    """Find out about a group by its logs.

    The lines of a log name their nodes, and how many processes of these there were, or else all are of one node.
    Raises TraceError, naming file and line, where a log is not whole, or contradicts itself in who wrote a line.
    """
    tell = [any(line.incarnation for line in lines) for lines in logs]
    told = [_of_nodes(lines) if tells else _of_one_node(lines) for lines, tells in zip(logs, tell, strict=True)]
    lines = list(chain.from_iterable(told))
    for line in lines:
        _refuse_names(line)
    members = dict.fromkeys(name for line in lines for name in (line.node, line.words.get("peer", "")) if name)
    if not members:
        raise lines[0].error("no line is of a node")
    for node in members:
        _refuse_lives([line for line in lines if line.node == node])
    for line in lines:
        if line.kind == "vote_result" and line.numbers["members"] != len(members):
            raise line.error(f"the group has {line.numbers['members']} members, the log names {len(members)}")
    return Group(tuple(sorted(members)), told, all(tell))


def _with_restarts(lines: Sequence[LogLine], kinds: Sequence[str]) -> Iterator[LogLine]:
    lives: dict[str, int] = {}
    for line in lines:
        if line.node and line.incarnation > lives.setdefault(line.node, 1):
            lives[line.node] = line.incarnation
            yield replace(line, kind=RESTART, words={}, numbers={}, marks={})
        if line.node and line.kind in kinds:
            yield line


# ---- Who wrote a line ----


def _of_nodes(lines: Sequence[LogLine]) -> list[LogLine]:
    """Take what no node says for noise."""
    return [line if line.node else replace(line, kind="", words={}) for line in lines]


def _of_one_node(lines: Sequence[LogLine]) -> list[LogLine]:
    """Tell the node by what its lines call it, and its processes by what they write when they start again."""
    names = {line.words["self"]: line for line in reversed(lines) if "self" in line.words}
    if not names:
        raise lines[0].error("no line is of a node")
    if len(names) > 1:
        line = max(names.values(), key=lambda line: line.number)
        listed = " and ".join(sorted(names))
        raise line.error(f"the log is of {listed}: give each its own, or write [NODE/INCARNATION] before their lines")
    (node,) = names
    found, life, stage, has_started = [], 1, -1, False
    for line in lines:
        here = RECOVERY.index(line.kind) if line.kind in RECOVERY else -1
        is_another = -1 < here <= stage or (line.kind == "started" and has_started)
        life += is_another
        has_started = line.kind == "started" or (has_started and not is_another)
        stage = here if here > -1 else len(RECOVERY) if line.kind else stage
        found.append(replace(line, node=node, incarnation=life))
    return found


def _refuse_names(line: LogLine) -> None:
    for name, is_wrong in (
        ("self", line.words.get("self", line.node) != line.node),
        ("peer", line.words.get("peer") == line.node),
    ):
        if is_wrong:
            raise line.error(f"{line.kind}: a line of {line.node} cannot name {line.words[name]} here")


# ---- Whether a log is whole ----


def _refuse_lives(told: Sequence[LogLine]) -> None:
    before = shows_a_life_before(told) if told else None
    if before is not None:
        raise before.error(_not_from_the_first_start(before))
    for line, after in pairwise(told):
        if after.incarnation < line.incarnation:
            raise after.error(f"{line.node} is at incarnation {line.incarnation} already")


def _not_from_the_first_start(line: LogLine) -> str:
    """Say what is missing above the line that shows it, and how to give it."""
    name = Path(line.source).name.removesuffix(".gz")
    return (
        f"the log does not begin where {line.node} first started: it had run before this line"
        f" ({line.kind or f'incarnation {line.incarnation}'}), and the lines of that are missing; give the earlier"
        f" files, too, named as a rotation names them ({name}.1, {name}.2, ... or {name}.1.gz), or put them above"
        f" these lines in one file; from a later start on, a log cannot be imported"
    )


def shows_a_life_before(told: Sequence[LogLine]) -> LogLine | None:
    """Return the first line of a node that shows that it started before its log begins, None where none does.

    Arguments: `told`, all lines of the node, of which there is one.
    """
    if told[0].incarnation > 1:
        return told[0]
    first_life = [line for line in told if line.incarnation == 1]
    change = next((line for line in first_life if line.kind in ROLES), None)
    for line in first_life:
        if line.kind in RECOVERY and max(line.numbers.values()) >= 0:
            return line
    for line in first_life:
        if Roles().contradicted(line) or _is_too_far(line, change):
            return line
        if line is change:
            return None
    return None


def _is_too_far(line: LogLine, change: LogLine | None) -> bool:
    """Tell whether a line above the first change of role shows what comes after one.

    What that change leads to may show a moment earlier: another thread writes the line.
    """
    after = (None, 0) if change is None else (ROLES[change.kind], change.numbers["term"])
    if line.kind in _LEADING:
        return after[0] != "LEADER"
    if line.kind != "status":
        return False
    role, term, end = line.words["role"], line.numbers["term"], line.numbers["end"]
    return role not in ("CANDIDATE", after[0]) or term not in (0, after[1]) or (role == "CANDIDATE" and end >= 0)
