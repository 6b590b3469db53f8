"""Logs of the reader's own: the fit of a mapping and a spec, and the way in which logs are checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol

from lockstep.base.errors import BadInputError
from lockstep.base.progress import Say, silent
from lockstep.base.spelling import did_you_mean
from lockstep.base.text_files import text_of
from lockstep.base.verdict import Verdict
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.trace_verdict import TraceVerdict, failure, malformed
from lockstep.logs.log_check import InterruptedAfterVerdict, LogSpec, check_logs
from lockstep.logs.log_rotation import logs_of
from lockstep.logs.mapping import FieldSource, Mapping, StepPattern, mapping_error, read_mapping
from lockstep.systems.own_traces import as_own_mistake, load_own_spec, own_system, with_notes
from lockstep.systems.system import System
from lockstep.tla.spec import TWO_SUCCESSORS, Spec
from lockstep.tla.values.kinds import TlaError
from lockstep.trace.itf_reader import is_itf
from lockstep.trace.json_lines import STDIN, source_name
from lockstep.trace.trace_reader import Trace

#: A text that stands where a number should, in the words of both engines.
_QUOTED_NUMBER = re.compile(
    r'"-?\d+" and -?\d+ cannot be compared|-?\d+ and "-?\d+" cannot be compared'
    r'|"-?\d+" is in the integer interval|integer -?\d+ with non-integer: "-?\d+"'
)

#: Checks one log whose lines have one step each in full.
Plain = Callable[[Path | Trace], TraceVerdict]


class LogSearch(Protocol):
    """Searches for the behaviours that explain the logs of one system."""

    def __call__(
        self, paths: Sequence[Path], subject: LogSpec, *, strict: bool = False, say: Say = silent
    ) -> TraceVerdict:
        """Return the verdict, as check_logs does."""


def refuse_mapping(mapping: Mapping, spec: Spec, path: Path, observe: str) -> None:
    """Raise MappingError, with the mapping's line, where it names what the spec or its cfg has not.

    Arguments: `path`, the mapping's file; `observe`, the definition that lines show.
    """
    for field, problem in _unknown(mapping, spec, observe):
        raise mapping_error(path, text_of(path), field, problem)


def _unknown(mapping: Mapping, spec: Spec, observe: str) -> Iterator[tuple[str, str]]:
    if mapping.null is not None and mapping.null not in {**spec.model_values, **spec.constants}:
        near = did_you_mean(mapping.null, [*spec.model_values, *spec.constants])
        yield "null", f"the cfg has no constant {mapping.null!r}{near}"
    if mapping.observe is not None and mapping.observe not in spec.definitions:
        yield (
            "observe",
            f"the spec does not define {mapping.observe!r}{did_you_mean(mapping.observe, spec.definitions)}",
        )
    if mapping.start is not None and (problem := _no_predicate(mapping.start, spec)):
        yield "start", problem
    for name in mapping.codes:
        if name not in spec.property_places:
            near = did_you_mean(name, spec.property_places)
            yield f"codes.{name}", f"the cfg has no such INVARIANT or PROPERTY{near}"
    for name in mapping.hidden:
        if name not in spec.actions:
            yield f"hidden.{name}", f"the spec has no action {name!r}{did_you_mean(name, spec.actions)}"
    for place, step in _steps(mapping):
        yield from _unknown_action(place, step, spec)
        yield from _unknown_fields(place, step, mapping, spec, observe)


def _no_predicate(name: str, spec: Spec) -> str | None:
    """Return why a name is none of a predicate of states; None where it may be."""
    if name in spec.actions:
        return f"{name} is an action, not a predicate of states"
    if name in spec.definitions:
        count = spec.arity(name)
        takes = f"{name} takes {count} argument{'s' if count > 1 else ''}, and a predicate of states takes none"
        return takes if count else None
    if name in spec.property_places:
        return f"{name} is a formula of behaviours, not a predicate of states"
    return f"the spec defines no predicate of states {name!r}{did_you_mean(name, spec.definitions)}"


def _steps(mapping: Mapping) -> Iterator[tuple[str, StepPattern]]:
    """Yield the steps of the rules, each with its name in messages."""
    for _, place, rule in mapping.rules():
        for index, reading in enumerate(rule.readings()):
            way = f"{place}.either[{index}]" if rule.either else place
            for number, step in enumerate(reading.step_patterns()):
                yield f"{way}.steps[{number}]" if reading.steps else way, step


def _unknown_action(place: str, step: StepPattern, spec: Spec) -> Iterator[tuple[str, str]]:
    if step.action is None:
        if step.args:
            yield f"{place}.args", "there is no `action` that they are arguments of"
        return
    known = spec.actions.get(step.action)
    if known is None:
        yield f"{place}.action", f"the spec has no action {step.action!r}{did_you_mean(step.action, spec.actions)}"
        return
    for name in step.args:
        if name not in known.params:
            has = f"it has {', '.join(known.params)}" if known.params else "it has none"
            yield f"{place}.args.{name}", f"{step.action} has no such parameter: {has}"


def _unknown_fields(
    place: str, step: StepPattern, mapping: Mapping, spec: Spec, observe: str
) -> Iterator[tuple[str, str]]:
    if not step.shows:
        return
    if observe in spec.definitions:
        if spec.arity(observe) and mapping.node is None:
            yield f"{place}.shows", f"the spec's {observe} takes a node: give `node` for all lines"
        known, problem = spec.fields(observe), f"the spec's {observe} shows no such field"
    else:
        known, problem = list(spec.variables), f"the spec has no {observe}, and no variable of this name"
    for name in step.shows if isinstance(step.shows, dict) else ():
        if known is not None and name not in known:
            yield f"{place}.shows.{name}", f"{problem}{did_you_mean(name, known)}"


def needs_search(mapping: Mapping, spec: Spec) -> bool:
    """Return whether the lines of a log leave open what happened, so that the behaviours are to be searched for."""
    if mapping.files == "together" or mapping.hidden or mapping.start or mapping.node or mapping.time:
        return True
    return _begins_in_several(spec) or any(
        bool(rule.steps or rule.either or rule.sends or rule.receives)
        or (not rule.ignore and (rule.action is None or _leaves_open(rule, spec)))
        for _, _, rule in mapping.rules()
    )


def _begins_in_several(spec: Spec) -> bool:
    try:
        return len(list(islice(dict.fromkeys(spec.initial_states()), 2))) > 1
    except (TlaError, RecursionError):  # the check of the log reports it
        return False


def _leaves_open(step: StepPattern, spec: Spec) -> bool:
    """Return whether a line need not have all of each parameter."""
    if step.repeat > 1:
        return True
    sources = [source for source in step.args.values() if isinstance(source, FieldSource)]
    if any(source.optional or (source.parts, source.has, source.size) != (None, None, None) for source in sources):
        return True
    return step.args.keys() != set(spec.actions[step.action or ""].params)


@dataclass(frozen=True, slots=True)
class OwnLogs:
    """The check of logs of the reader's own.

    `plain` checks a log whose lines have one step each in full; `searched` is there where lines leave more open,
    and `always` says whether they all do. `search` is the engine. `notes` name what no trace is checked for.
    """

    plain: Plain
    searched: LogSpec | None = None
    always: bool = False
    strict: bool = False
    say: Say = silent
    search: LogSearch = check_logs
    notes: tuple[str, ...] = ()

    @property
    def together(self) -> bool:
        """Whether several files are the logs of one system."""
        return self.searched is not None and self.searched.mapping.files == "together"

    def systems(self, paths: Sequence[Path]) -> list[Sequence[Path]]:
        """Return the files of each system: of all logs, or of each one, which may be rotated.

        Raises BadInputError where it is not known which of two rotated files is older.
        """
        if self.searched is None:
            return [[path] for path in paths]
        return [paths] if self.together else [log.paths for log in logs_of(paths)]

    def __call__(self, given: Path | Trace) -> TraceVerdict:
        """Check one log."""
        if self.always and isinstance(given, Path) and not is_itf(given):
            return self.all([given])
        found = _hinting(with_notes(self.plain(given), self.notes))
        if self.searched is not None and TWO_SUCCESSORS in found.reason and isinstance(given, Path) and given != STDIN:
            return self.all([given])
        return found

    def all(self, paths: Sequence[Path]) -> TraceVerdict:
        """Check the logs of one system."""
        assert self.searched is not None
        try:
            searched = self.search(paths, self.searched, strict=self.strict, say=self.say)
            found = with_notes(as_own_mistake(searched), self.notes)
        except InterruptedAfterVerdict as cut:
            cut.verdict.sources = list(map(source_name, paths))
            raise
        except Exception as error:  # Whatever it is, it is these logs' alone.
            source = ", ".join(map(source_name, paths))
            if isinstance(error, BadInputError) and not isinstance(error, TlaError):
                found = malformed(source, str(error))
            else:
                found = as_own_mistake(failure(error, source))
        found = _hinting(found)
        found.sources = list(map(source_name, paths))
        if len(paths) > 1 and not self.together:
            found.notes.append("note: these files are taken for one log that was rotated; give others one by one")
        return found


def _hinting(found: TraceVerdict) -> TraceVerdict:
    """Add what the author of a mapping may have left out, where a line is malformed."""
    if found.verdict is Verdict.MALFORMED and _QUOTED_NUMBER.search(found.reason):
        found.notes.append('note: a number that a line has as text, or in quotes, needs as = "integer" in the mapping')
    return found


# ---- The spec, with its mapping ----


@dataclass(frozen=True, slots=True)
class MappedSpec:
    """A spec of the reader's own, where a trace meets it, and the mapping of its logs, if there is one.

    `searched` is there for logs that leave something open, and `always` says whether they all do.
    """

    system: System
    spec: Spec
    interface: Interface
    mapping: Mapping | None = None
    searched: LogSpec | None = None
    always: bool = False


def load_mapped_spec(
    own: Path, cfg: Path, mapping: Path | None = None, *, search_path: Sequence[Path] = (), jar: Path | None = None
) -> MappedSpec:
    """Compile a spec of the reader's own, and hold the mapping against it.

    Arguments: `search_path`, further folders with modules; `jar`, the tla2tools that the spec is parsed with.
    Raises BadInputError where spec, cfg or mapping cannot be used, and as load_spec does.
    """
    mapped = None if mapping is None else read_mapping(mapping)
    system = own_system(own, cfg, mapped)
    spec = load_own_spec(system, search_path, jar)
    if mapping is None or mapped is None:
        return MappedSpec(system, spec, system.interface(spec))
    refuse_mapping(mapped, spec, mapping, system.observe)
    interface = system.interface(spec)
    start = None if mapped.start is None else load_own_spec(system, search_path, jar, mapped.start)
    if not spec.has_behaviour:
        raise BadInputError(f"{spec.name} has no initial predicate")
    searched = LogSpec(spec, interface, mapped, start)
    return MappedSpec(system, spec, interface, mapped, searched, needs_search(mapped, spec))
