"""The check of a trace or of logs against their spec, with a verdict whatever goes wrong with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from lockstep.base.deadline import Deadline
from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.base.progress import Say, silent
from lockstep.base.verdict import Verdict
from lockstep.conformance.diagnosis import Diagnosis
from lockstep.conformance.finding_codes import OTHER_SPEC
from lockstep.conformance.state_check import check_states
from lockstep.conformance.trace_check import EventListener, Events, check_trace, ignore_event
from lockstep.conformance.trace_verdict import Fault, TraceVerdict, failure, malformed
from lockstep.logs.log_check import InterruptedAfterVerdict, check_logs
from lockstep.logs.log_deviation import OnUnexplained, UnexplainedLine, ignore_line
from lockstep.logs.log_rotation import logs_of
from lockstep.logs.mapped_logs import MappedTrace
from lockstep.models.search_result import SpecFiles
from lockstep.systems.log_diagnosis import log_diagnosis
from lockstep.systems.logged_group import check_own_logs
from lockstep.systems.logging_system import logging_system
from lockstep.systems.mapped_spec import MappedSpec, load_mapped_spec
from lockstep.systems.own_traces import as_own_mistake, opened, with_notes
from lockstep.systems.state_diagnosis import known_state_diagnosis, own_state_diagnosis
from lockstep.systems.system import System
from lockstep.systems.trace_diagnosis import diagnosis_or_note, known_diagnosis, own_diagnosis
from lockstep.systems.trace_files import import_in_memory, open_or_import, watched
from lockstep.systems.trace_specs import Switches, compiled, header_of_states, spec_hash, system_of, tlc_spec
from lockstep.systems.wire_files import is_wire
from lockstep.tla.loading.spec_project import Parsed, parse_spec
from lockstep.tla.values.kinds import TlaError
from lockstep.trace.itf_reader import is_itf, read_itf
from lockstep.trace.json_lines import STDIN, TraceError, source_name
from lockstep.trace.trace_format import Header
from lockstep.trace.trace_reader import Trace

#: Checks one trace: a file, or one that is open.
FileCheck: TypeAlias = Callable[[Path | Trace], TraceVerdict]


#: A text that stands where a number should, in the words of both engines.
_QUOTED_NUMBER = re.compile(
    r'"-?\d+" and -?\d+ cannot be compared|-?\d+ and "-?\d+" cannot be compared'
    r'|"-?\d+" is in the integer interval|integer -?\d+ with non-integer: "-?\d+"'
)


def check(
    trace: str | Path | Trace,
    *,
    switches: Switches = MappingProxyType({}),
    spec: str | Path | None = None,
    cfg: str | Path | None = None,
    mapping: str | Path | None = None,
) -> TraceVerdict:
    """Check one trace and return the verdict, as `lockstep check` does; what is malformed gets a verdict, too.

    Arguments: `trace`, a file or an open trace; `switches`, constants by name that replace the header's; `spec`, where
    the trace is of a spec of your own, whose `cfg` is the one beside it unless another is named; `mapping`, how the
    lines of a log are steps of that spec.
    Raises BadInputError where spec, cfg or mapping cannot be used, and as load_spec does.
    """
    if spec is None:
        if cfg is not None or mapping is not None:
            raise BadInputError("cfg and mapping go with a spec")
        checks: FileCheck = KnownTraceCheck(switches)
    else:
        named_cfg, mapping_file = (None if each is None else Path(each) for each in (cfg, mapping))
        checks = own_check(SpecFiles(Path(spec), named_cfg, mapping=mapping_file))
    return checks(trace if isinstance(trace, Trace) else Path(trace))


@dataclass(frozen=True, slots=True)
class KnownTraceCheck:
    """The check of traces whose header names a system that lockstep knows.

    A recording, or a log of such a system, is imported first; the logs of nodes that cannot be are checked for what
    their lines establish. `switches` are constants that replace the header's; `jar` is the tla2tools that the spec is
    parsed with. A trace may take `timeout_seconds`, and its diagnosis as long again. TLC takes the steps if they are
    `by_tlc`; where the compiled spec takes them, `say` is called with the progress, and `listener` after each event,
    and the verdict has what the trace reaches if it `covers` that.
    """

    switches: Switches
    by_tlc: bool = False
    say: Say = silent
    jar: Path | None = None
    timeout_seconds: float | None = None
    listener: EventListener = ignore_event
    covers: bool = False

    def __call__(self, given: Path | Trace) -> TraceVerdict:
        """Return the verdict on one trace, whatever goes wrong with it."""
        source = given.source if isinstance(given, Trace) else source_name(given)
        try:
            if isinstance(given, Path) and not self.by_tlc and (system := logging_system(given)) is not None:
                return self.check_logs([given], system)
            if isinstance(given, Path) and is_wire(given):
                return self._check_wire(given)
            if isinstance(given, Path) and is_itf(given):
                return self._check_states(given, source)
            return self._check_events(given, source)
        except Exception as error:
            return failure(error, source)

    def groups(self, paths: Sequence[Path]) -> list[tuple[Sequence[Path], System | None]]:
        """Return what gets a verdict each: the logs of the nodes of a system together, and any other file alone."""
        found: list[tuple[list[Path], System | None]] = []
        logs: dict[str, list[Path]] = {}
        for path in paths:
            system = None if self.by_tlc else logging_system(path)
            if system is None:
                found.append(([path], None))
            elif system.spec in logs:
                logs[system.spec].append(path)
            else:
                found.append((logs.setdefault(system.spec, [path]), system))
        return found  # type: ignore[return-value]  # a list of paths is a sequence of them

    def diagnosis(self, path: Path) -> Diagnosis | None:
        """Return why a trace leaves the spec; None where that is not known of such a file."""
        if path == STDIN or is_wire(path) or logging_system(path) is not None:
            return None
        if is_itf(path):
            return diagnosis_or_note(lambda: known_state_diagnosis(path, self.switches, self.jar, self.timeout_seconds))
        return diagnosis_or_note(lambda: known_diagnosis(path, self.switches, self.jar, self.timeout_seconds))

    # ---- The logs of nodes ----

    def check_logs(self, paths: Sequence[Path], system: System) -> TraceVerdict:
        """Return the verdict on logs of the nodes of a group, whatever goes wrong with them.

        Logs that begin where their nodes did are imported and checked step by step. Others, and those of a system whose
        lines do not suffice for that, are checked for what their lines establish.
        """
        source = ", ".join(map(source_name, paths))
        try:
            found = self._check_whole_logs(paths, system) or self._check_facts(paths, system, [])
        except Exception as error:  # Whatever it is, it is these logs' alone.
            is_theirs = isinstance(error, BadInputError) and not isinstance(error, TlaError)
            found = malformed(source, str(error)) if is_theirs else failure(error, source)
        if len(paths) > 1:
            found.sources = list(map(source_name, paths))
        return found

    def _check_whole_logs(self, paths: Sequence[Path], system: System) -> TraceVerdict | None:
        """Check logs step by step; None where the system's logs are not imported."""
        if not any(raw.is_explained for raw in system.formats):
            return None
        try:
            trace, notes = import_in_memory(paths, self.say)
        except TraceError as error:
            return self._check_facts(paths, system, [f"note: not checked step by step: {error}"])
        except GaveUpError as error:
            facts = self._check_facts(paths, system, [])
            return facts if facts.verdict is Verdict.VIOLATED else _without_explanation(facts, error)
        return self._check_trace(trace, notes, None)

    def _check_facts(self, paths: Sequence[Path], system: System, notes: Sequence[str]) -> TraceVerdict:
        assert system.own_logs is not None
        found = check_own_logs(paths, system.own_logs())
        found.notes[:0] = notes
        return found

    # ---- One trace ----

    def _check_wire(self, given: Path) -> TraceVerdict:
        if self.by_tlc:
            raise TraceError(source_name(given), 1, "TLC alone checks no capture of a wire; leave --engine out")
        from lockstep.systems.wire_check import check_wire  # with the codecs of the reference

        return check_wire(given, self.say)

    def _check_events(self, given: Path | Trace, source: str) -> TraceVerdict:
        trace, notes = (given, ()) if isinstance(given, Trace) else open_or_import(given, self.say)
        return self._check_trace(trace, notes, given if isinstance(given, Path) else None)

    def _check_trace(self, trace: Trace, notes: Sequence[str], path: Path | None) -> TraceVerdict:
        source = trace.source
        header = trace.header
        system = system_of(header, source)
        if not self.by_tlc:
            spec = compiled(system, header, source, self.switches, self.jar, covers=self.covers)
            events = watched(trace, path, self.say, Deadline(self.timeout_seconds))
            found = check_trace(events, spec, system.interface(spec), listener=self.listener, covers=self.covers)
        else:
            # Slow to import, and only this needs it.
            from lockstep.conformance.by_tlc.tlc_trace_check import check_with_tlc

            spec_for_tlc = tlc_spec(system, header, source, self.switches, self.jar)
            found = check_with_tlc(trace, spec_for_tlc, timeout_seconds=self.timeout_seconds, jar=self.jar)
        found.notes += [*notes, *notes_on(header, system, source)]
        return found

    def _check_states(self, given: Path, source: str) -> TraceVerdict:
        """Check a file of ITF that `lockstep export` made of a trace: its `#meta` has that trace's header."""
        behaviour = read_itf(given)
        header = header_of_states(behaviour, source)
        if self.by_tlc:
            raise TraceError(source, 1, "TLC alone checks no ITF file; leave --engine out")
        system = system_of(header, source)
        spec = compiled(system, header, source, self.switches, self.jar, covers=self.covers)
        deadline = Deadline(self.timeout_seconds)
        found = check_states(behaviour, spec, system.interface(spec), deadline, covers=self.covers)
        found.notes.extend(notes_on(header, system, source))
        return found


def _without_explanation(facts: TraceVerdict, error: GaveUpError) -> TraceVerdict:
    """Return the verdict on logs that no steps explain, though what their lines establish breaks no rule."""
    facts.notes.insert(0, f"note: {facts.reason}")
    facts.verdict, facts.reason = Verdict.INCONCLUSIVE, str(error)
    return facts


def notes_on(
    header: Header, system: System, source: str, hash_of: Callable[[System], str] = spec_hash
) -> Iterator[str]:
    """Yield a note where a trace was written with another version of its system's spec than it is checked against.

    Arguments: `hash_of` returns the SHA-256 of a system's modules.
    """
    here = hash_of(system) if header.spec_hash else ""
    if header.spec_hash and header.spec_hash != here:
        hashes = f"written with the spec {header.spec_hash[:12]}, checked against {here[:12]}"
        yield f"{source}:1: {OTHER_SPEC} note: {hashes}"


# ---- A spec of the reader's own ----


@dataclass(frozen=True, slots=True)
class OwnTraceCheck:
    """The check of traces, or with a mapping of logs, against a spec of the reader's own.

    A trace, or the logs of one system, may take `timeout_seconds`, and its diagnosis as long again; logs are checked
    strictly if they do not pass where some explanation of them fails a property. TLC takes the steps where the
    spec is `parsed` for it; where the compiled spec takes them, `say` is called with the progress, and `listener` after
    each event, and the verdict has what the trace, or an explanation of the logs, reaches if the check `covers` that.
    """

    loaded: MappedSpec
    parsed: Parsed | None = None
    jar: Path | None = None
    timeout_seconds: float | None = None
    strict: bool = False
    say: Say = silent
    listener: EventListener = ignore_event
    covers: bool = False

    @property
    def is_together(self) -> bool:
        """Whether several files are the logs of one system."""
        return self.loaded.mapping is not None and self.loaded.mapping.files == "together"

    def systems(self, paths: Sequence[Path]) -> list[Sequence[Path]]:
        """Return the files of each system: of all logs, or of each one, which may be rotated.

        Raises BadInputError where it is not known which of two rotated files is older.
        """
        if self.loaded.logs is None:
            return [[path] for path in paths]
        return [paths] if self.is_together else [log.paths for log in logs_of(paths)]

    def __call__(self, given: Path | Trace, on_refuted: OnUnexplained = ignore_line) -> TraceVerdict:
        """Return the verdict on one trace or log, whatever goes wrong with it; `on_refuted` as of check_logs."""
        if self.loaded.needs_search and isinstance(given, Path) and not is_itf(given):
            return self.check_logs([given], on_refuted)
        found = self.check_steps(given)
        is_open = self.loaded.logs is not None and found.fault is Fault.TWO_SUCCESSORS
        if is_open and isinstance(given, Path) and given != STDIN:
            return self.check_logs([given], on_refuted)
        return _hinting(with_notes(found, self.loaded.unchecked))

    def diagnosis(self, path: Path) -> Diagnosis | None:
        """Return why a trace leaves the spec; None where that is not known of such a file."""
        if is_itf(path):
            return diagnosis_or_note(lambda: own_state_diagnosis(path, self.loaded, self.timeout_seconds))
        if path == STDIN or self.loaded.needs_search:
            return None
        return diagnosis_or_note(lambda: own_diagnosis(path, self.loaded, self.timeout_seconds))

    # ---- A trace, or a log whose lines have one step each in full ----

    def check_steps(self, given: Path | Trace) -> TraceVerdict:
        """Check a trace in our format, as a file or open, a file of ITF, or with a mapping a log of any NDJSON."""
        source = given.source if isinstance(given, Trace) else str(given)
        try:
            if isinstance(given, Path) and is_itf(given):
                found = self._check_states(given)
            else:
                found = self._check_events(given, source)
        except Exception as error:  # Whatever it is, it is this trace's alone.
            found = failure(error, source)
        return as_own_mistake(found)

    def _check_states(self, given: Path) -> TraceVerdict:
        if self.loaded.mapping is not None:
            raise TraceError(str(given), 1, "an ITF file has every variable, and needs no mapping")
        if self.parsed is not None:
            raise TraceError(str(given), 1, "TLC alone checks no ITF file; leave --engine out")
        spec, interface = self.loaded.spec, self.loaded.interface
        deadline = Deadline(self.timeout_seconds)
        return check_states(read_itf(given), spec, interface, deadline, covers=self.covers)

    def _check_events(self, given: Path | Trace, source: str) -> TraceVerdict:
        spec, interface, mapping = self.loaded.spec, self.loaded.interface, self.loaded.mapping
        events = opened(given, source, spec, mapping)
        if self.parsed is None:
            path = given if isinstance(given, Path) and mapping is None else None
            counted = watched(events, path, self.say, Deadline(self.timeout_seconds))
            found = check_trace(counted, spec, interface, listener=self.listener, covers=self.covers)
        else:
            found = self._check_with_tlc(events, self.parsed)
            if found.fault is not None and given != STDIN:
                # TLC seldom has the place of a formula without a value.
                compiled_spec = check_trace(opened(given, source, spec, mapping), spec, interface)
                if compiled_spec.fault is not None:
                    found.reason = compiled_spec.reason
                    found.blame_spec(compiled_spec.fault)
        found.notes += events.notes if isinstance(events, MappedTrace) else []
        return found

    def _check_with_tlc(self, events: Events, parsed: Parsed) -> TraceVerdict:
        # Slow to import, and only this needs it.
        from lockstep.conformance.by_tlc.tlc_trace_check import TlcSpec, check_with_tlc

        subject = TlcSpec(self.loaded.spec, parsed, self.loaded.interface)
        return check_with_tlc(events, subject, timeout_seconds=self.timeout_seconds, jar=self.jar)

    # ---- Logs that are searched for what explains them ----

    def check_logs(self, paths: Sequence[Path], on_refuted: OnUnexplained = ignore_line) -> TraceVerdict:
        """Return the verdict on the logs of one system, whatever goes wrong with them.

        Arguments: `on_refuted`, called with the line that no behaviour explains, if there is one.
        """
        try:
            found = with_notes(as_own_mistake(self._search(paths, on_refuted)), self.loaded.unchecked)
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
        if len(paths) > 1 and not self.is_together:
            found.notes.append("note: these files are taken for one log that was rotated; give others one by one")
        return found

    def diagnosis_of(self, refuted: UnexplainedLine) -> Diagnosis | None:
        """Return why no behaviour explains a line."""
        return diagnosis_or_note(lambda: log_diagnosis(refuted, self.loaded, timeout_seconds=self.timeout_seconds))

    def _search(self, paths: Sequence[Path], on_refuted: OnUnexplained) -> TraceVerdict:
        assert self.loaded.logs is not None
        if self.parsed is not None:
            problem = "the lines leave steps open, and TLC alone searches for none; leave --engine out"
            raise TraceError(source_name(paths[0]), 1, problem)
        return check_logs(
            paths,
            self.loaded.logs,
            timeout_seconds=self.timeout_seconds,
            strict=self.strict,
            say=self.say,
            covers=self.covers,
            on_refuted=on_refuted,
        )


def _hinting(found: TraceVerdict) -> TraceVerdict:
    """Add what the author of a mapping may have left out, where a line is malformed."""
    if found.verdict is Verdict.MALFORMED and _QUOTED_NUMBER.search(found.reason):
        found.notes.append('note: a number that a line has as text, or in quotes, needs as = "integer" in the mapping')
    return found


def own_check(
    files: SpecFiles,
    *,
    by_tlc: bool = False,
    timeout_seconds: float | None = None,
    strict: bool = False,
    say: Say = silent,
    covers: bool = False,
) -> OwnTraceCheck:
    """Load a spec of the reader's own, and return the check of traces, or with a mapping of logs, against it.

    Arguments: `covers`, whether verdicts are to have what a trace reaches; the others as of OwnTraceCheck.

    Raises BadInputError where spec, cfg or mapping cannot be used, and as load_spec does.
    """
    loaded = load_mapped_spec(files)
    parsed = parse_spec(files.module, files.cfg, search_path=files.library, jar=files.jar) if by_tlc else None
    return OwnTraceCheck(loaded, parsed, files.jar, timeout_seconds, strict, say, covers=covers)
