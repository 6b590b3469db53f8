"""Where a log begins: a node that first starts is a candidate of term 0, and its log is empty.

A process that finds no files writes no line about that, so it is the first lines of a node that tell whether others
stood above them.
"""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.systems.dledger.log.lines import LogLine
from lockstep.systems.dledger.log.roles import ROLES, Roles

#: What only a leader writes.
_LEADING = ("change_state", "do_compare", "do_truncate", "dispatcher_error", "retry")


def shows_a_life_before(told: Sequence[LogLine]) -> LogLine | None:
    """Return the first line of a node that shows that it started before its log begins, None where none does.

    Arguments: `told`, all lines of the node, of which there is one.
    """
    if told[0].incarnation > 1:
        return told[0]
    first_life = [line for line in told if line.incarnation == 1]
    change = next((line for line in first_life if line.kind in ROLES), None)
    for line in first_life:
        if line.kind.startswith("recovered") and max(line.numbers.values()) >= 0:
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
