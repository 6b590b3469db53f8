"""A spec of the reader's own with the mapping of its logs, and what the one must have for the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from lockstep.base.errors import BadInputError
from lockstep.base.spelling import did_you_mean
from lockstep.base.text_files import text_of
from lockstep.conformance.spec_interface import Interface
from lockstep.logs.log_check import LogSpec
from lockstep.logs.mapping import FieldSource, Mapping, StepPattern, mapping_error, read_mapping
from lockstep.models.search_result import SpecFiles
from lockstep.systems.own_traces import load_own_spec, not_checked, own_system
from lockstep.systems.system import System
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import TlaError


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


# ---- The spec, with its mapping ----


@dataclass(frozen=True, slots=True)
class MappedSpec:
    """A spec of the reader's own, where a trace meets it.

    `files` are its own; `unchecked` names what no trace is checked for. `logs` is the spec with the mapping of its
    logs, if there is one; `needs_search` says whether their lines leave open what happened.
    """

    files: SpecFiles
    system: System
    spec: Spec
    interface: Interface
    unchecked: tuple[str, ...]
    logs: LogSpec | None = None
    needs_search: bool = False

    @property
    def mapping(self) -> Mapping | None:
        """The mapping of the logs."""
        return None if self.logs is None else self.logs.mapping


def load_mapped_spec(files: SpecFiles) -> MappedSpec:
    """Compile a spec of the reader's own, and hold the mapping against it.

    Raises BadInputError where spec, cfg or mapping cannot be used, and as load_spec does.
    """
    mapping = None if files.mapping is None else read_mapping(files.mapping)
    system = own_system(files, mapping)
    spec = load_own_spec(files, system)
    if files.mapping is not None and mapping is not None:
        refuse_mapping(mapping, spec, files.mapping, system.observe)
    unchecked = not_checked(spec)
    interface = replace(system.interface(spec), has_unchecked=bool(unchecked))
    if mapping is None:
        return MappedSpec(files, system, spec, interface, unchecked)
    start = None if mapping.start is None else load_own_spec(files, system, mapping.start)
    if not spec.has_behaviour:
        raise BadInputError(f"{spec.name} has no initial predicate")
    logs = LogSpec(spec, interface, mapping, start)
    return MappedSpec(files, system, spec, interface, unchecked, logs, needs_search(mapping, spec))
