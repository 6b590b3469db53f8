"""The check of nodes' own logs that may begin and end anywhere, against the rules of spec/logged/LoggedGroup.tla.

Each line is read for what it establishes. The facts are the steps of a trace, which is checked as any other.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from lockstep.base.errors import BadInputError
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_check import TraceCheck, check_trace
from lockstep.conformance.trace_verdict import Finding, TraceVerdict
from lockstep.logs.operator_lines import OperatorLine, UnreadLines, operator_lines
from lockstep.systems.logged_facts import Fact, LineReader, OwnLogs
from lockstep.systems.logged_summary import Summarised, summary
from lockstep.systems.system import Choice, Constants, HeaderChoices, System
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Value, format_value
from lockstep.trace.trace_format import Event

_FORGETS = "ForgetsTerm"
#: What the spec has for what no line has said.
_UNKNOWN = -2


def _values(nodes: Sequence[str], chosen: HeaderChoices) -> Mapping[str, Value]:
    return {"Node": frozenset(nodes), _FORGETS: bool(chosen[_FORGETS])}


def _header_choices(constants: Mapping[str, Value]) -> tuple[tuple[str, ...], dict[str, Choice]]:
    return tuple(sorted(map(str, constants["Node"]))), {_FORGETS: constants[_FORGETS]}


#: What lines of logs establish, as a system.
LOGGED_GROUP = System(
    spec="LoggedGroup",
    title="nodes' own logs",
    root=Path("logged", "LoggedGroup.tla"),
    cfg=Path("logged", "LoggedGroup.cfg"),
    constants=Constants({_FORGETS: (False, True)}, {}, {}, _values, _header_choices),
)

#: The sets that an invariant speaks of; the other properties speak of nodes one by one.
_SETS = {
    "OneLeader": ("leaders",),
    "OneVote": ("votes",),
    "LeaderHasCommitted": ("known", "begun"),
    "TermsRiseInLog": ("chosen",),
}


class SeveralWritersError(BadInputError):
    """The lines of several nodes stand in one log, and nothing keeps them apart."""


@dataclass(slots=True)
class _NodeLog:
    """The facts of the lines that one node wrote in one log, with the moments of the lines, which never fall.

    `certain` counts the facts up to the last line that names the node.
    """

    place: str
    name: str = ""
    facts: list[tuple[int, OperatorLine, Fact]] = field(default_factory=list)
    certain: int = 0
    now: int = 0
    last: tuple[Fact, ...] = ()

    def add(self, line: OperatorLine, facts: tuple[Fact, ...]) -> None:
        """Add the facts of a line; a line that says what the one above it said adds nothing."""
        self.now = max(self.now, line.microseconds or 0)
        if facts and facts != self.last:
            self.facts += ((self.now, line, each) for each in facts)
        self.last = facts or self.last

    def learn_name(self, name: str) -> None:
        """Learn the name of the node from a line of it."""
        if name:
            self.name, self.certain = name, len(self.facts)


@dataclass(slots=True)
class GroupLogs:
    """The contents of the logs of a group: the facts of each log, who is named, and what was not read."""

    node_logs: list[_NodeLog] = field(default_factory=list)
    others: set[str] = field(default_factory=set)
    unread: UnreadLines = field(default_factory=UnreadLines)
    group: str = ""
    #: The lines about leaders, each with the log that has it.
    leading: dict[str, tuple[_NodeLog, OperatorLine]] = field(default_factory=dict)


class _GroupReader:
    """Reads the lines of a group's logs."""

    def __init__(self, own: OwnLogs) -> None:
        self.found = GroupLogs()
        self._own = own
        self._readers: dict[tuple[str, str], LineReader] = {}
        self._current: dict[tuple[str, str, str], _NodeLog] = {}

    def read(self, line: OperatorLine) -> None:
        """Take a line."""
        place = line.log, line.origin
        said = self._readers.setdefault(place, self._own.reader()).read(line.text)
        if not said.facts:
            self.found.unread.counts[said.kind] += bool(line.text.strip())
        if not said.is_own:
            return
        if said.group and self.found.group not in ("", said.group):
            both = f"the logs are of {self.found.group} and of {said.group}"
            raise SeveralWritersError(f"{line.source}:{line.number}: {both}: check those of each group alone")
        self.found.group = said.group or self.found.group
        self.found.others.update(said.others)
        log = self._current.get((*place, said.writer)) or self._begin((*place, said.writer))
        if said.name and log.name not in ("", said.name):
            log = self._change(log, (*place, said.writer), said.name, line)
            said = self._readers[place].read(line.text)
        if any(fact.action == "Leads" for fact in said.facts):
            self._refuse_copy(log, line)
        log.add(line, said.facts)
        log.learn_name(said.name)

    def _refuse_copy(self, log: _NodeLog, line: OperatorLine) -> None:
        """Raise SeveralWritersError where another log has the very line: it is one of the same node."""
        other, first = self.found.leading.setdefault(line.text, (log, line))
        if other is not log and line.microseconds is not None:
            places = f"{first.source}:{first.number} and {line.source}:{line.number}"
            raise SeveralWritersError(f"{places} are the same line: both are logs of one node, give one")

    def _begin(self, key: tuple[str, str, str]) -> _NodeLog:
        log, origin, writer = key
        found = self._current[key] = _NodeLog(writer or origin or Path(log).name)
        self.found.node_logs.append(found)
        return found

    def _change(self, log: _NodeLog, key: tuple[str, str, str], name: str, line: OperatorLine) -> _NodeLog:
        """Begin with another node, whose lines follow in the same log; whose the last lines were is not known."""
        before = [each.name for each in self.found.node_logs if each.place == log.place]
        if name in before:
            both = f"the log is of {log.name} and {name}"
            raise SeveralWritersError(f"{line.source}:{line.number}: {both}: give each node its own")
        del log.facts[log.certain :]
        self._readers[key[:2]] = self._own.reader()
        return self._begin(key)


def read_group(lines: Iterable[OperatorLine], own: OwnLogs) -> GroupLogs:
    """Read the lines of a group's logs.

    Raises SeveralWritersError where a log has lines of several nodes in turn, or the logs are of several groups.
    """
    reader = _GroupReader(own)
    for line in lines:
        reader.read(line)
    return reader.found


def _by_node(logs: Iterable[_NodeLog]) -> dict[str, list[tuple[int, OperatorLine, Fact]]]:
    """Return the facts of each node; several logs of one come one after the other by their stamps."""
    parts: dict[str, list[_NodeLog]] = {}
    for log in logs:
        name = log.name or log.place.removesuffix(".gz").removesuffix(".log")
        parts.setdefault(name, []).append(log)
    for name, several in parts.items():
        several.sort(key=lambda log: log.facts[0][0] if log.facts else log.now)
        for before, after in pairwise(several):
            if before.now > (after.facts[0][0] if after.facts else after.now):
                first, second = (log.facts[0][1].log if log.facts else log.place for log in (before, after))
                raise SeveralWritersError(f"{first} and {second}: both are logs of {name} at one time: give one")
    return {name: [fact for log in several for fact in log.facts] for name, several in parts.items()}


# ---- The check ----


@dataclass(slots=True)
class _Steps:
    """The facts as the events of a trace, by their place; and the state after each finding."""

    source: str
    events: list[Event]
    lines: list[OperatorLine]
    states: list[State] = field(default_factory=list)

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        """Yield (place, event)."""
        return enumerate(self.events)

    def listen(self, check: TraceCheck, state: State, line: int, event: Event, after: State | None) -> None:
        """Keep the state after an event with a finding."""
        if after is not None:
            self.states += [after] * (len(check.result.findings) - len(self.states))


def check_own_logs(paths: Sequence[Path], own: OwnLogs) -> TraceVerdict:
    """Check the logs of a group, or of some nodes of it, wherever they begin and end.

    Arguments: `paths`, a file for each log, rotated ones with all of their files; `own`, the system's logs.
    Returns the verdict: *violated* where what the lines establish breaks a rule of LoggedGroup, *inconclusive* where
    they establish nothing. Its notes say what was established, and what was not looked at.
    Raises SeveralWritersError, UnreadableError, and BadInputError where the order of rotated files is not known.
    """
    notes: list[str] = []
    return judged(read_group(operator_lines(paths, notes), own), own, ", ".join(map(str, paths)), notes)


def judged(group: GroupLogs, own: OwnLogs, source: str, notes: Sequence[str] = ()) -> TraceVerdict:
    """Return the verdict on what logs establish; arguments as of check_own_logs, `notes` on how they were read."""
    by_node = _by_node(group.node_logs)
    rows = ([(at, name, line, fact) for at, line, fact in each] for name, each in by_node.items())
    merged = list(heapq.merge(*rows, key=_at))
    events = [
        Event(seq, name, fact.action, dict(fact.args), line=line.number)
        for seq, (_, name, line, fact) in enumerate(merged)
    ]
    steps = _Steps(source, events, [line for _, _, line, _ in merged])
    named = {each for event in events for each in event.args.values() if isinstance(each, str)}
    spec = _compiled(frozenset({*by_node, *named} or {"nobody"}), own.forgets_term)
    found = check_trace(steps, spec, LOGGED_GROUP.interface(spec), listener=steps.listen)
    found.findings = [
        _placed(finding, steps.lines[finding.line], state)
        for finding, state in zip(found.findings, steps.states, strict=True)
    ]
    _conclude(found)
    found.notes += [
        *notes,
        *summary(Summarised(events, by_node.keys(), group.others, own.blind)),
        *filter(None, [group.unread.note()]),
    ]
    return found


def _at(row: tuple[int, str, OperatorLine, Fact]) -> int:
    return row[0]


@lru_cache(maxsize=8)
def _compiled(nodes: frozenset[str], forgets_term: bool) -> Spec:
    chosen = _values(sorted(nodes), {_FORGETS: forgets_term})
    return load_spec(LOGGED_GROUP.module, LOGGED_GROUP.trace_cfg, constants=chosen)


def _placed(finding: Finding, line: OperatorLine, state: State) -> Finding:
    """Return a finding at its line, with what the lines up to there have established of what it speaks of."""
    names = _SETS.get(finding.name)
    if names is None:
        fields = state["node"].d[finding.node].d
        said = [
            f"{name} {value:,}" for name, value in fields.items() if not isinstance(value, bool) and value != _UNKNOWN
        ]
        known = [f"{finding.node} by its lines: {', '.join(said)}"]
    else:
        known = [f"{name} = {format_value(state[name])}" for name in names]
    return replace(finding, line=line.number, source=line.source, details=(line.text.strip(), *known))


def _conclude(found: TraceVerdict) -> None:
    if found.verdict is Verdict.HOLDS:
        found.reason = f"nothing that these lines establish breaks a rule of {LOGGED_GROUP.spec}"
    elif found.verdict is Verdict.VIOLATED:
        names = ", ".join(sorted(found.violations))
        found.reason = f"what these lines establish breaks {names} of {LOGGED_GROUP.spec}"
    elif not found.steps:
        found.reason = "no line establishes anything"
