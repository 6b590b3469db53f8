"""The one of several equal COMPAREs or TRUNCATEs whose answer its sender takes, in a run that is taken again.

A dispatcher that has given up a call asks the same once more, and takes the answer to the last call alone. A cut that
ends may bring all of them at once, in any order, and the node answers them otherwise as it changes its role: first with
NOT_FOLLOWER, say, and then with SUCCESS. So that one counts whose answer can be the one that the sender takes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from raftref.dledger.messages import Code, PushType, Request
from raftref.records import record
from raftref.runtime.driver import START, NodeStep
from raftref.runtime.virtual import KILLED

_REFUSES = "ClearCompareOrTruncateRequests"
#: The actions that take the first of the COMPAREs, TRUNCATEs and COMMITs that wait.
_TAKE_FROM_QUEUE = frozenset({"HandleDoCompare", "HandleDoTruncate", "HandleDoCommit", _REFUSES})


def is_answer_taken(m: Request, waiting: int, later: Iterable[NodeStep], *, obeys_all: bool) -> bool:
    """Return whether it is the answer to this COMPARE or TRUNCATE that its sender takes.

    Of several whose answers can be that one it is the last.

    Args:
        m: The request, which arrives now.
        waiting: The number of COMPAREs, TRUNCATEs and COMMITs that wait at its receiver and are handled before it.
        later: The steps of all nodes after the arrival.
        obeys_all: Whether a COMPARE of any term is obeyed (PushTermCheck).

    Source: EntryDispatcher.doCompare, doTruncate; EntryHandler.doWork.
    """
    queue: deque[int | None] = deque([*[None] * waiting, 0])
    handled: list[tuple[int, NodeStep]] = []
    for arrivals, step in enumerate(later, start=1):
        if step.node == m.src and (step.action in (START, KILLED) or _gives_up(step, m)):
            return False
        answer = _answer(step, m)
        if answer is not None:
            possible = [arrival for arrival, each in handled if _can_answer(each, m, answer, obeys_all=obeys_all)]
            return possible[-1:] == [0]
        if step.node != m.dst:
            continue
        if step.action in (START, KILLED):
            queue.clear()
        elif step.action == "HandlePush" and step.args["m"]["type"] != PushType.APPEND:
            queue.append(arrivals if _is_like(step.args["m"], m) else None)
        elif step.action in _TAKE_FROM_QUEUE and queue:
            arrival = queue.popleft()
            handled += [] if arrival is None else [(arrival, step)]
    return False


def _gives_up(step: NodeStep, m: Request) -> bool:
    return step.action == "PushTimeOut" and step.args["peer"] == m.dst


def _is_like(recorded: Mapping[str, Any], m: Request) -> bool:
    """Return whether a recorded request differs from one in whether it is awaited, at most."""
    return {**recorded, "awaited": m.awaited} == dict(record(m))


def _answer(step: NodeStep, m: Request) -> Mapping[str, Any] | None:
    """Return the answer that the sender takes in a step, None where it takes none to such a request."""
    answer: Mapping[str, Any] = step.args.get("m", {})
    if step.node != m.src or answer.get("kind") != "response":
        return None
    asked = (m.dst, m.type, m.term, m.index)
    return answer if (answer["src"], answer["type"], answer.get("term"), answer.get("index")) == asked else None


def _can_answer(step: NodeStep, m: Request, answer: Mapping[str, Any], *, obeys_all: bool) -> bool:
    """Return whether a node that handles the request in a step can give this answer."""
    shows, code = step.shows, answer["code"]
    if (answer["beginIndex"], answer["endIndex"]) != (shows["ledgerBeginIndex"], shows["ledgerEndIndex"]):
        return False
    if step.action == _REFUSES:
        return bool(code == Code.NOT_FOLLOWER)
    obeys = obeys_all or (shows["currTerm"], shows["leaderId"]) == (m.term, m.src)
    return bool(code == Code.INCONSISTENT_STATE or code == (Code.SUCCESS if obeys else Code.INCONSISTENT_TERM))
