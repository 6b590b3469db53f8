"""Opening a trace with the spec that it is checked against, and the options that choose the spec."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lockstep.models.search_result import SpecFiles
from lockstep.systems.own_traces import load_own_spec, own_system
from lockstep.systems.system import System
from lockstep.systems.trace_files import open_trace
from lockstep.systems.trace_specs import Switches, compiled, system_of, variants
from lockstep.tla.spec import Spec
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_reader import Trace, read_trace


@dataclass(frozen=True, slots=True)
class SpecOptions:
    """The spec that traces are checked against: the one that each trace's header names, or `own`, the user's.

    `switches` replace constants of a header, and `jar` is the tla2tools that its spec is parsed with.
    """

    switches: Switches = field(default_factory=dict)
    own: SpecFiles | None = None
    jar: Path | None = None

    def switch_words(self) -> Iterator[str]:
        """Yield the switches as a command line has them: the name of a variant, or NAME=VALUE."""
        known = variants()
        yield from (name if name in known else f"{name}={value}" for name, value in self.switches.items())

    def command_line(self) -> tuple[str, ...]:
        """Return the options of `lockstep check` that choose this spec, without the jar."""
        pairs = [("--switch", word) for word in self.switch_words()]
        if (own := self.own) is not None:
            library = (("-I", folder) for folder in own.library)
            paths = [("--spec", own.module), ("--cfg", own.named_cfg), *library, ("--mapping", own.mapping)]
            pairs += [(option, str(path)) for option, path in paths if path is not None]
        return tuple(part for pair in pairs for part in pair)


def open_with_spec(path: Path, options: SpecOptions) -> tuple[Trace, Spec, System]:
    """Open a trace, and compile the spec that it is checked against; return also the system of the spec.

    Raises TraceError where the trace is malformed or of another spec, UnreadableError where it cannot be read, and as
    load_spec does.
    """
    if options.own is None:
        trace = open_trace(path)
        system = system_of(trace.header, trace.source)
        return trace, compiled(system, trace.header, trace.source, options.switches, options.jar), system
    system = own_system(options.own)
    spec = load_own_spec(options.own, system)
    trace = read_trace(path)
    if trace.header.spec != system.spec:
        raise TraceError(trace.source, 1, f"field `spec`: {trace.header.spec!r} is not {system.spec!r}")
    return trace, spec, system
