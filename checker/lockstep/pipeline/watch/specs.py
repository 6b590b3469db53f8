"""Compiled specs in the store, each under the hash of what decides it: compiled once, on the driver, read by tasks."""

from __future__ import annotations

import contextlib
import hashlib
from functools import partial
from pathlib import Path

import msgspec

from lockstep.base.verdict import Verdict
from lockstep.base.whole_files import writing_whole
from lockstep.conformance.trace_verdict import TraceVerdict, failure
from lockstep.jobs.spark.apart import TIMES_APART, DiedError, apart
from lockstep.systems.system import System
from lockstep.systems.trace_files import opened
from lockstep.systems.trace_specs import Switches, spec_hash, spec_key, system_of, trace_spec
from lockstep.tla.spec import Spec
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import Header


class _Kept(msgspec.Struct):
    """What became of compiling a spec: its source, or the verdict on the traces that need it."""

    source: str = ""
    verdict: str = ""
    reason: str = ""
    line: int = 0


class NoSpecError(Exception):
    """A spec cannot be had; `found` is the verdict on the trace that needs it."""

    def __init__(self, found: TraceVerdict) -> None:
        """Carry the verdict."""
        super().__init__(found.reason)
        self.found = found


class Specs:
    """The specs of a store, for traces whose constants `switches` replace."""

    def __init__(self, store: Path, switches: Switches, seconds: float | None = None) -> None:
        """Take a store; its folder of specs is made when the first is compiled, which may take so many seconds."""
        self._folder, self.switches, self._seconds = store / "specs", switches, seconds
        self._met: dict[str, Spec] = {}
        self._hashes: dict[str, str] = {}
        self._known: set[str] = set()
        self._digests: dict[str, str] = {}

    def hash_of(self, header: Header, source: str) -> str:
        """Return the hash of what decides the spec of a trace; raises TraceError where its header is refused."""
        system = system_of(header, source)
        key = (spec_key(header, source, self.switches), self.hash_of_modules(system))
        return hashlib.sha256(repr(key).encode()).hexdigest()

    def hash_of_modules(self, system: System) -> str:
        """Return the SHA-256 of a system's modules, which are read once."""
        if system.spec not in self._hashes:
            self._hashes[system.spec] = spec_hash(system)
        return self._hashes[system.spec]

    def compile(self, line: bytes, source: str) -> None:
        """Compile the spec that the trace with this first line needs, if it is not there; what fails is kept too."""
        try:
            header = opened([line], source).header
            name = self.hash_of(header, source)
        except Exception:  # Whoever checks the trace meets it again, and tells of it.
            return
        if name in self._known:
            return
        path = self._folder / name
        kept = None if self._is_there(path) else self._compiled_apart(name, header, source)
        if kept is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            with writing_whole(path) as file:
                file.write(msgspec.json.encode(kept))
        if kept is None or kept.source or kept.verdict == Verdict.MALFORMED:
            self._known.add(name)

    def _is_there(self, path: Path) -> bool:
        """Tell whether a spec was compiled; what failed is tried again, as a tool may have been missing."""
        try:
            return bool(msgspec.json.decode(path.read_bytes(), type=_Kept).source)
        except (OSError, msgspec.MsgspecError):
            return False

    def _compiled_apart(self, name: str, header: Header, source: str) -> _Kept:
        """Compile a spec in a process of its own: where that dies, or takes too long, this one does not try again."""
        try:
            return apart(partial(self._compiled, header, source), self._seconds, TIMES_APART)
        except DiedError as error:
            self._known.add(name)
            return _Kept(verdict=str(Verdict.INCONCLUSIVE), reason=f"the compiling of its spec {error}")

    def _compiled(self, header: Header, source: str) -> _Kept:
        try:
            return _Kept(trace_spec(header, source, self.switches).source)
        except TraceError as error:
            return _Kept(verdict=str(failure(error, source).verdict), reason=error.problem, line=error.line)
        except Exception as error:  # The traces that need this spec get it as their verdict, the others go on.
            found = failure(error, source)
            return _Kept(verdict=str(found.verdict), reason=found.reason)

    def digest(self, name: str) -> str:
        """Return the SHA-256 of the text of a spec that was got, "" of any other."""
        return self._digests.get(name, "")

    def have(self, name: str, source: str) -> None:
        """Get a spec ahead, for the processes that this one will start; what cannot be had is theirs to tell of."""
        with contextlib.suppress(NoSpecError, OSError):
            self.get(name, source)

    def get(self, name: str, source: str) -> Spec:
        """Return a spec by its hash; raises NoSpecError where compiling it failed, OSError where it is not there."""
        if name not in self._met:
            kept = msgspec.json.decode((self._folder / name).read_bytes(), type=_Kept)
            if not kept.source:
                at = f"{source}:{kept.line}: " if kept.line else ""
                raise NoSpecError(TraceVerdict(source, Verdict(kept.verdict), f"{at}{kept.reason}"))
            self._met[name] = Spec.from_source(kept.source)
            self._digests[name] = hashlib.sha256(kept.source.encode()).hexdigest()
        return self._met[name]
