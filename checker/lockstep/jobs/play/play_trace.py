"""A path through a session as a trace in the format that `lockstep check` reads.

Not every path has one. A trace begins in the one initial state of the system's spec, each of its steps is taken by a
node, and it is checked without the bounds of a model. So the trace is checked before it is saved, against the spec
and the cfg that it will be checked with: if the verdict differs from what the session shows, there is no trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from lockstep.base.errors import BadInputError
from lockstep.conformance.json_values import to_tree
from lockstep.conformance.trace_check import TraceCheck, check_trace
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.jobs.listed_trace import ListedTrace
from lockstep.jobs.play.play_game import Game
from lockstep.jobs.play.play_session import Visit
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.trace_specs import compiled, spec_hash
from lockstep.tla.spec import Spec
from lockstep.tla.syntax.tree import Location
from lockstep.tla.values.kinds import Fcn, ModelValue, TlaError, Value, format_value, sort_key
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import FORMAT, Event, Header, trace_lines

__all__ = ["NoTraceError", "SavedTrace", "save_trace", "spec_of_saved_traces"]

#: The version in the header of a trace that no system ran, and the most nodes that it may name.
_VERSION, MAX_NODES = "model", 64


class NoTraceError(BadInputError):
    """A path cannot be written as a trace; the message says why."""


@dataclass(frozen=True, slots=True)
class SavedTrace:
    """The text of a trace, and the verdict of `lockstep check`; `notes` name what the check does not evaluate."""

    text: bytes
    verdict: TraceVerdict
    notes: tuple[str, ...] = ()


def save_trace(game: Game, at: int) -> SavedTrace:
    """Return the path to a state as a trace, with the verdict that its check gives.

    The verdict is the session's: the same properties fail first at the same steps, but for those of a model's own cfg.
    Raises NoTraceError where there is no such trace, NoSuchStateError where there is no such state.
    """
    path = game.session.path(at)
    if len(path) == 1:
        raise NoTraceError("a trace has at least one step; take one first")
    header = _header(game, path)
    spec = _spec_of_traces(game, header)
    _refuse_other_states(game, spec, header)
    events = tuple(_events(game, header, path))
    listed = ListedTrace.numbered(f"{game.name}.trace.ndjson", events)
    verdict = check_trace(listed, spec, game.system.interface(spec))
    return SavedTrace(b"".join(trace_lines(header, events)), verdict, tuple(_notes(game, path, spec, verdict)))


def spec_of_saved_traces(game: Game) -> Spec | None:
    """Return the spec that saved traces of a game are checked against; None where none can be saved."""
    try:
        return _spec_of_traces(game, _header(game, game.session.path(0)))
    except NoTraceError:
        return None


def _header(game: Game, path: Sequence[Visit]) -> Header:
    if game.guard:
        raise NoTraceError(f"{game.name} leaves a rule open, which no trace can say: it has no traces")
    if not game.is_own and game.system.spec not in SYSTEMS:
        raise NoTraceError(f"{game.name} is no model of the whole of a system: it has no traces")
    if game.header is not None:
        return game.header
    if game.system.constants is None:
        return Header(FORMAT, game.name, _VERSION, game.system.spec, _names(game, path), {}, origin="lockstep play")
    try:
        nodes, chosen = game.system.constants.header_choices(game.session.spec.constants)
    except (KeyError, TypeError) as error:
        raise NoTraceError(f"{game.name} is no model of the whole of {game.system.title}: it has no traces") from error
    known = spec_hash(game.system)
    return Header(FORMAT, game.name, _VERSION, game.system.spec, nodes, chosen, known, f"lockstep play {game.name}")


def _names(game: Game, path: Sequence[Visit]) -> tuple[str, ...]:
    """Return the nodes of a spec of the user's own: the first arguments of its steps, which must be names."""
    names = {_node(game, visit) for visit in path[1:]}
    if len(names) > MAX_NODES:
        raise NoTraceError(f"{len(names)} nodes take steps, and a trace has at most {MAX_NODES}")
    return tuple(sorted(names))


def _node(game: Game, visit: Visit) -> str:
    """Return the node that takes a step, as a trace names it; raises NoTraceError where none does."""
    params = game.session.spec.actions[visit.action].params
    if not params:
        return game.name
    node = visit.args[params[0]]
    name = to_tree(node, game.interface.words) if isinstance(node, str | ModelValue) else None
    if not isinstance(name, str) or not name:
        what = f"the first argument of {visit.action} is {format_value(node)}"
        raise NoTraceError(f"{what}, which names no node, and in a trace each step is taken by a node")
    return name


def _spec_of_traces(game: Game, header: Header) -> Spec:
    """Return the spec that the trace will be checked against."""
    if game.is_own and len(game.session.initial) > 1:
        raise NoTraceError("a trace begins in the one initial state of its spec, and this one has several")
    if game.is_own or game.header is not None:
        return game.session.spec
    try:
        return compiled(game.system, header, game.name)
    except TraceError as error:
        raise NoTraceError(f"{game.name} has constants that no trace has: {error.problem}") from error


def _refuse_other_states(game: Game, spec: Spec, header: Header) -> None:
    """Raise NoTraceError where a model has other variables than the spec of traces, or begins in another state."""
    if spec is game.session.spec:
        return
    if set(spec.variables) != set(game.session.spec.variables):
        raise NoTraceError(f"{game.name} has other variables than {game.system.title}: it has no traces")
    here = _initial_observation(game, game.session.spec, header)
    there = _initial_observation(game, spec, header)
    if here != there:
        raise NoTraceError(f"{game.name} does not begin as a trace does: its Init sets up a later state")


def _initial_observation(game: Game, spec: Spec, header: Header) -> list[object]:
    """Return what each node shows in the first initial state of a spec of the game's system."""
    is_played = spec is game.session.spec
    interface = game.interface if is_played else game.system.interface(spec)
    state = game.session.visit(0).state if is_played else next(iter(spec.initial_states()))
    nodes = [interface.words.strings.get(node, node) for node in header.nodes]
    return [to_tree(spec.evaluate(game.system.observe, state, node), interface.words) for node in nodes]


def _events(game: Game, header: Header, path: Sequence[Visit]) -> Iterator[Event]:
    """Yield the events: a step of a trace unchanged, any other with what its node shows, and what it sent."""
    check = TraceCheck(ListedTrace(game.name), game.session.spec, game.interface)
    shown: dict[str, dict[str, object]] = {}
    for number, visit in enumerate(path[1:]):
        if visit.event is not None:
            yield msgspec.structs.replace(visit.event, seq=number, line=None)
        else:
            yield _event(check, game, path[number], visit, number, shown)


def _event(
    check: TraceCheck, game: Game, before: Visit, visit: Visit, number: int, shown: dict[str, dict[str, object]]
) -> Event:
    """Return the event of a step; its node shows the fields that changed since they were shown last."""
    words, node = check.reading.words, _node(game, visit)
    if visit.choice:
        problem = f"the arguments of {visit.action} leave open what it does, as no trace may"
        raise NoTraceError(f"step {visit.depth}: {problem}")
    params = game.session.spec.actions[visit.action].params
    args = {name: _as_json(value, check) for name, value in visit.args.items() if name != params[0]}
    event = Event(number, node, visit.action, args)
    try:
        seen = check.observable(visit.state, 0, event)
    except TlaError as error:
        raise NoTraceError(f"step {visit.depth}: what {node} shows has no value: {error}") from error
    record = seen.d if isinstance(seen, Fcn) else {}
    now = {str(to_tree(name, words)): to_tree(value, words) for name, value in record.items()}
    known = shown.setdefault(node, {})
    shows = {name: value for name, value in now.items() if name not in known or known[name] != value}
    known.update(now)
    sent = None
    if check.interface.has_outbox(check.spec):
        who = check.reading.node(event)
        fresh = (check.outbox(visit.state, who) - check.outbox(before.state, who)).elements()
        sent = tuple(to_tree(message, words) for message in sorted(fresh, key=sort_key))
    return Event(number, node, visit.action, args, shows, sent)


def _as_json(value: Value, check: TraceCheck) -> object:
    """Return a value as JSON of a trace; raises NoTraceError where that would be read as another value."""
    tree = to_tree(value, check.reading.words)
    if check.reading.value(tree, 0, "args") != value:
        raise NoTraceError(f"{format_value(value)} is written in a trace like another value")
    return tree


def _replaced(game: Game, spec: Spec) -> str:
    """Return the end of a message: what a model's cfg replaces by another definition than the spec of traces has.

    A definition that is TRUE there is a bound for models, which only takes steps away.
    """
    here = game.session.spec.bodies
    places = {name: place for name, place in spec.bodies.items() if here.get(name, place) != place}
    names = [name for name, place in places.items() if not _is_true(game.context.texts.get(place.module, ""), place)]
    return f"; the model defines {', '.join(names)} otherwise" if names else ""


def _is_true(text: str, place: Location) -> bool:
    lines = text.splitlines()[place.line - 1 : place.end_line]
    return len(lines) == 1 and lines[0][place.column - 1 : place.end_column] == "TRUE"


def _notes(game: Game, path: Sequence[Visit], spec: Spec, verdict: TraceVerdict) -> Iterator[str]:
    """Yield what the check does not evaluate; raise NoTraceError where its verdict differs from the session."""
    if verdict.deviation is not None:
        found = verdict.deviation
        step = f"step {found.seq + 1}, {found.action} ({found.code} {found.name})"
        raise NoTraceError(f"the spec that traces are checked against does not allow {step}{_replaced(game, spec)}")
    here: dict[str, int] = {}
    for visit in path:
        for name in sorted(visit.failed):
            here.setdefault(name, visit.depth)
    there = {name: 0 if found.action == "Init" else found.seq + 1 for name, found in verdict.violations.items()}
    evaluated = {*spec.invariants, *spec.action_properties, *spec.initial_properties}
    for name, depth in here.items():
        if name not in evaluated:
            alone = "only this model has the property, and `lockstep check` does not evaluate it"
            yield f"note: {name} is false after step {depth}; {alone}"
    common = {name: depth for name, depth in here.items() if name in evaluated}
    own = {*here, *there} & evaluated
    differing = sorted(name for name in own if name in common and there.get(name) != common[name])
    if differing:
        problem = f"the check of the trace finds {differing[0]} false at another step than this session"
        raise NoTraceError(problem + _replaced(game, spec))
    for name in sorted(there.keys() - here.keys()):
        yield f"note: `lockstep check` finds {name} false after step {there[name]}; this model's cfg does not have it"
