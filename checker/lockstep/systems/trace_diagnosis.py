"""The diagnosis of a trace file that leaves its spec."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

from lockstep.base.deadline import Deadline
from lockstep.base.errors import GaveUpError
from lockstep.base.package_data import common_dir
from lockstep.base.progress import silent
from lockstep.conformance.cause_search import CauseSearch
from lockstep.conformance.changed_lines import LineSearch
from lockstep.conformance.changed_steps import ChangedSteps
from lockstep.conformance.deviation import cause_at, find_deviation
from lockstep.conformance.diagnosis import DeviationCause, Diagnosis
from lockstep.conformance.flaw_trials import FlawTrials
from lockstep.conformance.initial_causes import changed_beginnings, initial_causes
from lockstep.conformance.nearest_change import nearest_change
from lockstep.conformance.search_limit import SearchLimit
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.stated_rule import stated_rule
from lockstep.conformance.trace_check import Events, TraceCheck
from lockstep.systems.mapped_spec import MappedSpec
from lockstep.systems.own_traces import load_own_spec
from lockstep.systems.own_traces import opened as opened_own
from lockstep.systems.system import Choice, System
from lockstep.systems.trace_files import open_or_import, watched
from lockstep.systems.trace_specs import Switches, compiled, expanded, system_of
from lockstep.tla.spec import Spec

#: The time that one diagnosis may take, in seconds, and the causes that it names.
DIAGNOSIS_SECONDS, MAX_CAUSES = 20.0, 3

#: The values of a switch of a flaw.
_PUBLISHED, _REPAIRED = "published", "repaired"

#: Returns the check of the trace against the spec with some flaws set the other way.
_WithFlaws = Callable[[frozenset[str]], TraceCheck]


def diagnosis_or_note(diagnosis: Callable[[], Diagnosis | None]) -> Diagnosis | None:
    """Return a diagnosis; where the search for it fails, whatever goes wrong, one that says so: there is a verdict.

    Nothing is printed meanwhile: the check has shown what the spec prints and warns of.
    """
    try:
        with warnings.catch_warnings(), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            return diagnosis()
    except Exception as error:
        why = f"{type(error).__name__}: {error}".partition("\n")[0]
        return Diagnosis((), (), 0, (f"the cause could not be looked for: {why}",))


def known_diagnosis(path: Path, switches: Switches, jar: Path | None = None) -> Diagnosis | None:
    """Return why a trace, or a recording, of a system that lockstep knows leaves the spec; None where it does not.

    Arguments: `switches`, constants that replace the header's; `jar`, the tla2tools that the spec is parsed with.
    Raises as the check of the trace does.
    """
    trace = open_or_import(path, silent)[0]
    system, header = system_of(trace.header, trace.source), trace.header
    assert system.constants is not None
    chosen = {**system.constants.defaults, **header.constants, **expanded(system.constants, switches)}
    flaws = {name: value for name, value in chosen.items() if _is_flaw(system, name)}

    def with_others(others: frozenset[str]) -> TraceCheck:
        turned = {name: _PUBLISHED if flaws[name] == _REPAIRED else _REPAIRED for name in others}
        spec = compiled(system, header, trace.source, chosen | turned, jar)
        return TraceCheck(trace, spec, system.interface(spec))

    spec = compiled(system, header, trace.source, switches, jar)

    def probed() -> Spec:
        return compiled(system, header, trace.source, switches, jar, has_probes=True)

    return _diagnosis(trace, spec, system.interface(spec), probed, flaws, with_others)


def _is_flaw(system: System, name: str) -> bool:
    allowed = () if system.constants is None else system.constants.allowed.get(name, ())
    return set(allowed) == {_PUBLISHED, _REPAIRED}


def own_diagnosis(path: Path, loaded: MappedSpec) -> Diagnosis | None:
    """Return why a trace of a spec of the reader's own leaves it, or a log whose lines are steps; None if it does not.

    Raises as the check of the trace does.
    """
    events = opened_own(path, str(path), loaded.spec, loaded.mapping)

    def probed() -> Spec:
        return load_own_spec(loaded.files, loaded.system, has_probes=True)

    return _diagnosis(events, loaded.spec, loaded.interface, probed, {}, None)


def _diagnosis(
    trace: Events,
    spec: Spec,
    interface: Interface,
    probed: Callable[[], Spec],
    flaws: Mapping[str, Choice],
    with_flaws: _WithFlaws | None,
) -> Diagnosis | None:
    deadline = Deadline(DIAGNOSIS_SECONDS)
    check = TraceCheck(trace, spec, interface)
    try:
        deviation = find_deviation(watched(trace, None, silent, deadline), check)
    except GaveUpError:
        return Diagnosis((), (), 0, ("the time was over before the line was reached again",))
    if deviation is None:
        return None
    common = frozenset(path.stem for path in common_dir().glob("*.tla"))
    steps = ChangedSteps(check, probed(), frozenset(flaws))
    limit = SearchLimit(deadline)
    search, lines = CauseSearch(deviation, steps, limit, common), LineSearch(deviation, steps, limit)
    past = deviation.past(check)
    known = [] if with_flaws is None else _flaws(FlawTrials(deviation, steps, limit), flaws, with_flaws)
    causes = [*known, *search.decisions(past), *lines.causes()]
    beginnings = [] if causes else [*changed_beginnings(deviation, steps, limit)]
    causes = causes or [*initial_causes(deviation, steps, beginnings)]
    if not causes:
        nearest = lines.alone() or nearest_change(deviation, steps, limit, beginnings, common)
        other = nearest or stated_rule(deviation, steps)
        causes += [] if other is None else [other]
    before = tuple(deviation.events[place][0] for place in past)
    return Diagnosis(_first(causes, common), before, len(deviation.events), tuple(limit.notes))


def _flaws(search: FlawTrials, flaws: Mapping[str, Choice], with_flaws: _WithFlaws) -> list[DeviationCause]:
    """Return the flaws with which the spec, compiled with them, allows the deviation, and how far it does."""
    found = []
    for names, _ in search.sets()[:MAX_CAUSES]:
        accepts = search.deviation.count_accepted(with_flaws(names))
        if accepts:
            values = {name: _PUBLISHED if flaws[name] == _REPAIRED else _REPAIRED for name in sorted(names)}
            what = ", ".join(f"{name}={value}" for name, value in values.items())
            found.append(cause_at(search.deviation, search.steps.check, "flaws", what, search.deviation.last, accepts))
    return found


#: The likelier a kind of cause is where several explain as much, the lower.
_RANKS = {
    "flaws": 0,
    "repeated": 1,
    "formula": 2,
    "update": 3,
    "use": 3,
    "updates": 4,
    "value": 5,
    "step": 6,
    "event": 7,
    "number": 8,
    "rule": 9,
}


def _first(causes: list[DeviationCause], common: frozenset[str]) -> tuple[DeviationCause, ...]:
    """Return the likeliest causes: the flaws that explain most, and of each other rank one that explains as much.

    An expression comes last which other steps speak against, or that is in a module which many specs share; so does a
    number. Within a rank they have the order in which they are given.
    """
    flaws = _explaining_most([cause for cause in causes if cause.kind == "flaws"], 0)
    least = max((cause.accepts for cause in flaws), default=0)
    ranked: dict[int, DeviationCause] = {}
    for cause in _explaining_most([cause for cause in causes if cause.kind != "flaws"], least):
        ranked.setdefault(_RANKS[cause.kind], cause)

    def rank(cause: DeviationCause) -> tuple[bool, int]:
        is_common = cause.place.partition(".tla")[0] in common
        return bool(cause.against) or is_common or cause.kind == "number", _RANKS[cause.kind]

    return (*flaws, *sorted(ranked.values(), key=rank))[:MAX_CAUSES]


def _explaining_most(causes: list[DeviationCause], least: int) -> list[DeviationCause]:
    most = max((cause.accepts for cause in causes), default=0)
    return [cause for cause in causes if cause.accepts == most >= least]
