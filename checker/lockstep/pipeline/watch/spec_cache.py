"""Compiled specs in the store, each under a hash of its inputs: compiled once, on the driver, and read by tasks."""

from __future__ import annotations

import contextlib
import hashlib
from functools import partial
from pathlib import Path

import msgspec

from lockstep.base.verdict import Verdict
from lockstep.base.whole_files import writing_whole
from lockstep.conformance.trace_verdict import TraceVerdict, failure
from lockstep.jobs.spark.isolated_work import WorkDiedError, run_isolated
from lockstep.systems.system import System
from lockstep.systems.trace_files import opened
from lockstep.systems.trace_specs import Switches, spec_hash, spec_key, system_of, trace_spec
from lockstep.tla.spec import Spec
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import Header


class _Compiled(msgspec.Struct):
    """A compiled spec: its source, or where that failed the verdict on the traces that need it."""

    source: str = ""
    verdict: str = ""
    reason: str = ""
    line: int = 0


class NoSpecError(Exception):
    """A spec could not be compiled; `verdict` is that on the trace that needs it."""

    def __init__(self, verdict: TraceVerdict) -> None:
        """Carry the verdict."""
        super().__init__(verdict.reason)
        self.verdict = verdict


class SpecCache:
    """The specs of a store, for traces whose constants `switches` replace."""

    def __init__(self, store: Path, switches: Switches, seconds: float | None = None) -> None:
        """Take a store; compiling a spec may take `seconds`."""
        self._folder, self.switches, self._seconds = store / "specs", switches, seconds
        self._specs: dict[str, Spec] = {}
        self._hashes: dict[str, str] = {}
        self._known: set[str] = set()
        self._digests: dict[str, str] = {}

    def hash_of(self, header: Header, source: str) -> str:
        """Return the hash of the inputs of the spec of a trace; raises TraceError where its header is refused."""
        system = system_of(header, source)
        key = (spec_key(header, source, self.switches), self.hash_of_modules(system))
        return hashlib.sha256(repr(key).encode()).hexdigest()

    def hash_of_modules(self, system: System) -> str:
        """Return the SHA-256 of a system's modules, which are read once."""
        if system.spec not in self._hashes:
            self._hashes[system.spec] = spec_hash(system)
        return self._hashes[system.spec]

    def compile(self, line: bytes, source: str) -> None:
        """Compile the spec that the trace with this first line needs, if it is not there; a failure is kept too."""
        try:
            header = opened([line], source).header
            name = self.hash_of(header, source)
        except Exception:  # The check of the trace meets it again, and reports it.
            return
        if name in self._known:
            return
        path = self._folder / name
        compiled = None if self._is_there(path) else self._compiled_isolated(name, header, source)
        if compiled is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            with writing_whole(path) as file:
                file.write(msgspec.json.encode(compiled))
        if compiled is None or compiled.source or compiled.verdict == Verdict.MALFORMED:
            self._known.add(name)

    def _is_there(self, path: Path) -> bool:
        """Return whether a spec was compiled; what failed is tried again, as a tool may have been missing."""
        try:
            return bool(msgspec.json.decode(path.read_bytes(), type=_Compiled).source)
        except (OSError, msgspec.MsgspecError):
            return False

    def _compiled_isolated(self, name: str, header: Header, source: str) -> _Compiled:
        """Compile a spec in a process of its own: where that dies, or takes too long, this one does not try again."""
        try:
            return run_isolated(partial(self._compiled, header, source), self._seconds)
        except WorkDiedError as error:
            self._known.add(name)
            return _Compiled(verdict=str(Verdict.INCONCLUSIVE), reason=f"the compiling of its spec {error}")

    def _compiled(self, header: Header, source: str) -> _Compiled:
        try:
            return _Compiled(trace_spec(header, source, self.switches).source)
        except TraceError as error:
            return _Compiled(verdict=str(failure(error, source).verdict), reason=error.problem, line=error.line)
        except Exception as error:  # The traces that need this spec get it as their verdict, the others go on.
            found = failure(error, source)
            return _Compiled(verdict=str(found.verdict), reason=found.reason)

    def digest(self, name: str) -> str:
        """Return the SHA-256 of the text of a spec that this process has, "" for any other."""
        return self._digests.get(name, "")

    def fetch(self, name: str, source: str) -> None:
        """Load a spec now, for the processes that this one will start; they report one that failed."""
        with contextlib.suppress(NoSpecError, OSError):
            self.get(name, source)

    def get(self, name: str, source: str) -> Spec:
        """Return a spec by its hash; raises NoSpecError where compiling it failed, OSError where it is not there."""
        if name not in self._specs:
            compiled = msgspec.json.decode((self._folder / name).read_bytes(), type=_Compiled)
            if not compiled.source:
                place = f"{source}:{compiled.line}: " if compiled.line else ""
                raise NoSpecError(TraceVerdict(source, Verdict(compiled.verdict), f"{place}{compiled.reason}"))
            self._specs[name] = Spec.from_source(compiled.source)
            self._digests[name] = hashlib.sha256(compiled.source.encode()).hexdigest()
        return self._specs[name]
