"""The spec that a trace is checked against: the system's, compiled with the constants of the trace's header."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from lockstep.base.errors import BadInputError
from lockstep.base.spelling import did_you_mean, nearest
from lockstep.systems.registry import SYSTEMS, constants
from lockstep.systems.system import Choice, Constants, HeaderChoices, System
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.loading.spec_project import module_texts, parse_spec
from lockstep.tla.spec import FalseAssumptionError, Spec
from lockstep.tla.values.kinds import Value
from lockstep.trace.itf_reader import HEADER, ItfTrace
from lockstep.trace.json_lines import TraceError, convert_line
from lockstep.trace.trace_format import FORMAT, REFERENCE, Header

if TYPE_CHECKING:
    from lockstep.conformance.by_tlc.tlc_trace_check import TlcSpec

#: Constants that replace those of a header; the name of a variant, with TRUE, stands for all that it chooses.
Switches: TypeAlias = HeaderChoices


class UncheckedPropertyError(BadInputError):
    """The cfg for traces asks for a property that no trace can be checked for, such as liveness."""


#: The number of values of a constant from which on only the first and the last are listed.
_MANY_VALUES = 5


def variants() -> list[str]:
    """Return the names of the variants of all systems; the system of a trace decides what one chooses."""
    return list(dict.fromkeys(name for each in constants() for name in each.variants))


def switch_words() -> list[str]:
    """List every word that chooses constants: the variants, and each constant with each value."""
    return [*variants(), *(f"{name}={word}" for name, words in _allowed().items() for word in words)]


def switches_of(words: Iterable[str]) -> dict[str, Choice]:
    """Read words that are NAME=VALUE, or the name of a variant, which stands for all that it chooses.

    Raises BadInputError where a word is neither.
    """
    known, allowed = variants(), _allowed()
    chosen: dict[str, Choice] = {}
    for word in words:
        if word in known:
            chosen[word] = True
            continue
        name, equals, text = word.partition("=")
        if not equals or text.lower() not in allowed.get(name, {}):
            names = ", ".join(f"{name}={_listed(words)}" for name, words in allowed.items())
            everything = f"; there are {', '.join(known)}, {names}"
            near = did_you_mean(word, switch_words()) or did_you_mean(name, allowed)
            raise BadInputError(f"{word!r} is no switch{near or everything}")
        chosen[name] = allowed[name][text.lower()]
    return chosen


def _allowed() -> dict[str, dict[str, Choice]]:
    """Return the values of each constant, by the word for each."""
    found: dict[str, dict[str, Choice]] = {}
    for each in constants():
        for name, choices in each.allowed.items():
            found.setdefault(name, {}).update({str(choice).lower(): choice for choice in choices})
    return found


def _listed(words: Iterable[str]) -> str:
    """Return the words for the values of a constant, of numbers the first and the last."""
    listed = list(words)
    return "|".join(listed) if len(listed) < _MANY_VALUES else f"{listed[0]}..{listed[-1]}"


def system_of(header: Header, source: str) -> System:
    """Return the system whose spec the header of a trace names; raises TraceError where there is none."""
    found = SYSTEMS.get(header.spec)
    if found is None:
        problem = f"field `spec`: there is no spec {header.spec!r}; there is {', '.join(SYSTEMS)}"
        raise TraceError(source, 1, problem)
    return found


def header_of_states(behaviour: ItfTrace, source: str) -> Header:
    """Return the header of the trace that a file of ITF was made of; raises TraceError where it has none."""
    tree = behaviour.meta.get(HEADER)
    if tree is None:
        raise TraceError(source, 1, "an ITF file does not say which spec it is of: name that with --spec")
    header: Header = convert_line(tree, Header, source, 1)
    return header


def spec_hash(system: System) -> str:
    """Return the SHA-256 of the spec's modules, in hexadecimal, as a trace's header has it."""
    return _hash_of(system.module)


def coverage_hash(system: System) -> str:
    """Return the SHA-256 of the spec's modules with those of its coverage, in hexadecimal."""
    return _hash_of(system.coverage_module)


def _hash_of(module: Path) -> str:
    digest = hashlib.sha256()
    for _, text in sorted(module_texts(module).items()):
        digest.update(text.encode())
    return digest.hexdigest()


def spec_key(header: Header, source: str, switches: Switches | None = None) -> tuple[object, ...]:
    """Return a key of the spec of a trace: the same key, the same compiled spec.

    Raises TraceError as trace_spec does: to Python 1 equals True, so only a header that was tested has a key.
    """
    chosen = _chosen(system_of(header, source), header, source, switches)
    return (header.spec, header.nodes, tuple(sorted(chosen.items())))


def with_switches(header: Header, source: str, switches: Switches) -> Header:
    """Return the header of a trace with constants replaced; arguments and TraceError are those of trace_spec."""
    return msgspec.structs.replace(header, constants=_chosen(system_of(header, source), header, source, switches))


def trace_spec(
    header: Header, source: str, switches: Switches | None = None, *, covers: bool = False, has_probes: bool = False
) -> Spec:
    """Compile the spec for a trace of a system that lockstep knows.

    Arguments: `header` and `source` of the trace; `switches`, constants that replace the header's, as when a
    recording of the published system is held against the repaired spec; `covers`, whether the spec is to have the
    definitions of coverage; `has_probes`, whether its expressions are to have probes.
    Raises TraceError, naming the field, where the header names another spec, another set of constants, or constants
    that the spec excludes by an ASSUME;
    ToolMissing where it must be compiled anew and there is no Java; UncheckedPropertyError where a property
    would be passed over.
    """
    return compiled(system_of(header, source), header, source, switches, covers=covers, has_probes=has_probes)


def compiled(
    system: System,
    header: Header,
    source: str,
    switches: Switches | None = None,
    jar: Path | None = None,
    *,
    covers: bool = False,
    has_probes: bool = False,
) -> Spec:
    """Compile the spec of a system for a trace; exceptions are those of trace_spec.

    Arguments as of trace_spec, and `jar`, the tla2tools.
    """
    chosen = trace_constants(system, header, source, switches)
    module = system.coverage_module if covers else system.module
    spec = load_spec(
        module,
        system.trace_cfg,
        constants=chosen,
        footprints=system.footprints,
        jar=jar,
        has_probes=has_probes,
    )
    try:
        spec.refuse_false_constants()
    except FalseAssumptionError as error:
        raise TraceError(source, 1, f"field `constants`: {error}") from error
    refuse_unchecked(spec, system.trace_cfg.name)
    return spec


def tlc_spec(
    system: System, header: Header, source: str, switches: Switches | None = None, jar: Path | None = None
) -> TlcSpec:
    """Return the spec that TLC holds a trace against; arguments and exceptions are those of trace_spec."""
    # Slow to import, and only `--engine tlc` needs it.
    from lockstep.conformance.by_tlc.tlc_trace_check import TlcSpec

    spec = compiled(system, header, source, switches, jar)
    chosen = trace_constants(system, header, source, switches)
    parsed = parse_spec(system.module, system.trace_cfg, constants=chosen, jar=jar)
    return TlcSpec(spec, parsed, system.interface(spec))


def trace_constants(
    system: System, header: Header, source: str, switches: Switches | None = None
) -> Mapping[str, Value]:
    """Return the constants of the spec as a trace has them; arguments and TraceError are those of trace_spec."""
    chosen = _chosen(system, header, source, switches)
    return {} if system.constants is None else system.constants.values(header.nodes, chosen)


def refuse_unchecked(spec: Spec, cfg: str) -> None:
    """Raise UncheckedPropertyError where the cfg has a property, such as liveness, that no trace is checked for."""
    for name, places in {**spec.temporal, **spec.unchecked}.items():
        raise UncheckedPropertyError(f"{cfg}: no trace can be checked for {name} ({', '.join(places)})")


def _chosen(system: System, header: Header, source: str, switches: Switches | None) -> dict[str, Choice]:
    """Return the constants with a choice as header and switches choose them; raise TraceError where one is wrong."""
    if system.constants is None:
        if header.constants:
            raise TraceError(source, 1, "field `constants`: those of the reader's own spec come from the cfg")
        return {}
    named = {**system.constants.defaults, **header.constants}
    _check_constants(system.constants, named, source)
    chosen = named | expanded(system.constants, switches or {})
    _check_constants(system.constants, chosen, source)
    return chosen


def expanded(known: Constants, switches: Switches) -> dict[str, Choice]:
    """Return the constants that switches choose, those of a variant one by one."""
    chosen: dict[str, Choice] = {}
    for name, value in switches.items():
        chosen |= known.variants.get(name, {name: value}) if value is True else {name: value}
    return chosen


def _check_constants(known: Constants, chosen: Mapping[str, object], source: str) -> None:
    for name, values in known.allowed.items():
        if name not in chosen:
            unknown = [each for each in nearest(name, chosen) if each not in known.allowed]
            misspelt = f"; `{unknown[0]}` is there, which the spec does not have" if unknown else ""
            raise TraceError(source, 1, f"field `constants.{name}`: missing{misspelt}")
        if not any(type(chosen[name]) is type(value) and chosen[name] == value for value in values):
            in_range = isinstance(values, range)
            allowed = f"{values[0]} to {values[-1]}" if in_range else " or ".join(map(json.dumps, values))
            raise TraceError(source, 1, f"field `constants.{name}`: {json.dumps(chosen[name])} is not {allowed}")
    for name in chosen:
        if name not in known.allowed:
            raise TraceError(
                source,
                1,
                f"field `constants.{name}`: the spec has no such constant{did_you_mean(name, known.allowed)}",
            )


def reference_header(system: System, plan: Any, origin: str, scenario: str) -> Header:
    """Return the header of the trace of a group of a reference.

    Arguments: `system`; `plan`, of the group; `origin`, the command that wrote it; `scenario`, how to find it again.
    """
    from importlib.metadata import version  # slow to import

    return Header(
        format=FORMAT,
        system=REFERENCE,
        version=version("lockstep-raft"),
        spec=system.spec,
        nodes=tuple(plan.node_ids),
        constants=dict(plan.constants()),
        spec_hash=spec_hash(system),
        origin=origin,
        scenario=scenario,
    )
