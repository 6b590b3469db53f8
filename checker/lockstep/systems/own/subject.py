"""What traces and logs of the reader's own are checked against: the compiled spec, and what a mapping says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lockstep.base.errors import BadInputError
from lockstep.conformance.spec_interface import Interface
from lockstep.logs.log_check import LogSpec
from lockstep.logs.mapping import Mapping, read_mapping
from lockstep.systems.own.logs import needs_search, refuse_mapping
from lockstep.systems.own.traces import load_own_spec, own_system
from lockstep.systems.system import System
from lockstep.tla.spec import Spec


@dataclass(frozen=True, slots=True)
class OwnSubject:
    """A spec of the reader's own, where a trace meets it, and the mapping of its logs, if there is one.

    `searched` is what logs are checked against that leave something open, and `always` tells whether they all do.
    """

    system: System
    spec: Spec
    interface: Interface
    mapping: Mapping | None = None
    searched: LogSpec | None = None
    always: bool = False


def own_subject(
    own: Path, cfg: Path, mapping: Path | None = None, *, search_path: Sequence[Path] = (), jar: Path | None = None
) -> OwnSubject:
    """Compile a spec of the reader's own, and hold the mapping against it.

    Arguments: `search_path`, further folders with modules; `jar`, the tla2tools that the spec is parsed with.
    Raises BadInputError where spec, cfg or mapping cannot be used, and as load_spec does.
    """
    mapped = None if mapping is None else read_mapping(mapping)
    system = own_system(own, cfg, mapped)
    spec = load_own_spec(system, search_path, jar)
    if mapping is None or mapped is None:
        return OwnSubject(system, spec, system.interface(spec))
    refuse_mapping(mapped, spec, mapping, system.observe)
    interface = system.interface(spec)
    start = None if mapped.start is None else load_own_spec(system, search_path, jar, mapped.start)
    if not spec.has_behaviour:
        raise BadInputError(f"{spec.name} has no initial predicate")
    searched = LogSpec(spec, interface, mapped, start)
    return OwnSubject(system, spec, interface, mapped, searched, needs_search(mapped, spec))
