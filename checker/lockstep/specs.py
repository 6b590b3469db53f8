"""The spec a trace is told in: DLedger.tla, compiled with the constants of the trace's header."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from lockstep.errors import BadInputError
from lockstep.observe import NO_NODE
from lockstep.paths import common_dir, dledger_dir
from lockstep.tla.sets import STRING
from lockstep.tla.spec import Spec, load_spec
from lockstep.tla.values import Value
from lockstep.trace.format import Header, TraceError
from raftref.dledger import COARSE, GRAINS, PUBLISHED, REPAIRED, SWITCHES

Switches = Mapping[str, bool | str | int]


def trace_module() -> Path:
    """Return the module that traces are told in."""
    return dledger_dir() / "DLedger.tla"


def trace_cfg() -> Path:
    """Return the cfg that names Init, Next and the properties that traces are checked for."""
    return dledger_dir() / "Trace.cfg"


def chapters() -> list[Path]:
    """Return the modules of the spec, which the root reaches by EXTENDS, each after those that it extends."""
    return list(dict.fromkeys(_extended(trace_module())))


def _extended(module: Path) -> Iterator[Path]:
    text = module.read_text(encoding="utf-8")
    for extends in re.findall(r"^EXTENDS ((?:\w+,\s*)*\w+)$", text, re.MULTILINE):
        for name in re.findall(r"\w+", extends):
            for folder in (dledger_dir(), common_dir()):
                if (folder / f"{name}.tla").is_file():
                    yield from _extended(folder / f"{name}.tla")
    yield module


@functools.cache
def spec_hash() -> str:
    """Return the SHA-256 of the spec's modules, in hexadecimal, as a trace's header tells it."""
    digest = hashlib.sha256()
    for path in chapters():
        digest.update(path.read_bytes())
    return digest.hexdigest()


#: The constants with a choice, and what may be chosen.
CHOICES: dict[str, tuple[bool | str, ...]] = {
    "AtomicElection": (False, True),
    "Fifo": (False, True),
    **dict.fromkeys(GRAINS, (True, False)),
    **dict.fromkeys(SWITCHES, ("published", "repaired")),
}

#: How the spec has a constant of a header: as a member of one of its sets, where the header's constant has this value.
SET_CONSTANTS: dict[str, tuple[str, str, bool | str]] = {
    "AtomicElection": ("Features", "StepwiseElections", False),
    "AtomicReceipt": ("Features", "RequestQueues", False),
    "AtomicQuorumCheck": ("Features", "SplitQuorumCheck", False),
    **{
        name: ("Features", name, True)
        for name in ("VoteMessages", "PendingMap", "Batches", "NotFollower", "Clients", "Applies")
    },
    **{name: ("Published", name, "published") for name in SWITCHES},
}

#: What every flaw switch is in the published version that traces are of, 0.2.7, and with every repair.
VARIANTS: dict[str, dict[str, str]] = {"published": PUBLISHED.constants(), "repaired": REPAIRED.constants()}


class FalseAssumptionError(BadInputError):
    """The constants are none that the spec is about: an ASSUME is false."""


class UncheckedPropertyError(BadInputError):
    """The cfg for traces asks for a property that no trace can be checked for, such as liveness."""


def spec_key(header: Header, source: str, switches: Switches | None = None) -> tuple[object, ...]:
    """Return what decides the spec of a trace: the same key, the same compiled spec.

    Raises TraceError as trace_spec does: to Python 1 equals True, so only a header that was tested has a key.
    """
    return (header.spec, tuple(sorted(header.nodes)), tuple(sorted(_chosen(header, source, switches).items())))


def trace_spec(header: Header, source: str, switches: Switches | None = None) -> Spec:
    """Compile the spec for a trace.

    Arguments: `header` and `source` of the trace; `switches`, constants that replace the header's, as when a
    recording of the published system is held against the repaired spec.
    Raises TraceError, naming the field, where the header names another spec, another set of constants, or constants
    that the spec excludes by an ASSUME;
    ToolMissing where it must be compiled anew and there is no Java; UncheckedPropertyError where a property
    would be passed over.
    """
    constants = trace_constants(header, source, switches)
    spec = load_spec(trace_module(), trace_cfg(), constants=constants)
    try:
        refuse_false_assumptions(spec)
    except FalseAssumptionError as error:
        raise TraceError(source, 1, f"field `constants`: {error}") from error
    refuse_unchecked(spec, trace_cfg().name)
    return spec


def trace_constants(header: Header, source: str, switches: Switches | None = None) -> dict[str, Value]:
    """Return the constants of the spec as a trace has them; arguments and TraceError are those of trace_spec."""
    return {
        "Node": frozenset(header.nodes),
        "Value": STRING,
        "NoNode": NO_NODE,
        **_as_the_spec_has_them(_chosen(header, source, switches)),
    }


def _as_the_spec_has_them(chosen: Mapping[str, bool | str | int]) -> dict[str, Value]:
    """Return the constants of the spec for those of a header: what is no constant of its own is in a set, or not."""
    constants = {name: value for name, value in chosen.items() if name not in SET_CONSTANTS}
    members = [(of, member) for name, (of, member, value) in SET_CONSTANTS.items() if chosen[name] == value]
    return constants | {
        name: frozenset(member for of, member in members if of == name) for name in ("Features", "Published")
    }


def refuse_false_assumptions(spec: Spec) -> None:
    """Raise FalseAssumptionError where the constants of the spec are excluded by one of its ASSUMEs."""
    for place in spec.false_assumptions():
        raise FalseAssumptionError(f"the ASSUME at {place} is false")


def refuse_unchecked(spec: Spec, cfg: str) -> None:
    """Raise UncheckedPropertyError where the cfg asks for what no finite trace can be checked for, such as liveness."""
    for name, places in spec.unchecked.items():
        raise UncheckedPropertyError(f"{cfg}: no trace can be checked for {name} ({', '.join(places)})")


def _chosen(header: Header, source: str, switches: Switches | None) -> dict[str, bool | str | int]:
    """Return the constants with a choice as header and switches choose them; raise TraceError where one is wrong.

    A flaw that the header does not name is as published in 0.2.7, a feature of the grain as coarse as can be.
    """
    if header.spec != "DLedger":
        raise TraceError(source, 1, f"field `spec`: there is no spec {header.spec!r}; there is DLedger")
    named = {**COARSE.constants(), **PUBLISHED.constants(), **header.constants}
    _check_constants(named, source)
    chosen = {**named, **(switches or {})}
    _check_constants(chosen, source)
    return chosen


def _check_constants(chosen: Mapping[str, object], source: str) -> None:
    for name, values in CHOICES.items():
        if name not in chosen:
            raise TraceError(source, 1, f"field `constants.{name}`: missing")
        if not any(type(chosen[name]) is type(value) and chosen[name] == value for value in values):
            allowed = " or ".join(map(json.dumps, values))
            raise TraceError(source, 1, f"field `constants.{name}`: {json.dumps(chosen[name])} is not {allowed}")
    for name in chosen:
        if name not in CHOICES:
            raise TraceError(source, 1, f"field `constants.{name}`: the spec has no such constant")
