"""Compiled specs on their way to the tasks: each once, by its hash.

They go as broadcasts. An executor fetches one when the first of its tasks asks for it, from any executor that has it,
and its Python workers read it from the local disk. A file of `SparkContext.addFile` would be fetched by every executor
at the start of its next task, needed or not, and no session can remove it; the closure of a function goes with every
task.
"""

from __future__ import annotations

import hashlib
import marshal
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import MAGIC_NUMBER
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from lockstep.base.errors import EnvironmentFailedError, GaveUpError
from lockstep.systems.trace_files import opened
from lockstep.systems.trace_specs import Switches, spec_key, trace_spec
from lockstep.tla.spec import Spec
from lockstep.trace.json_lines import TraceError

Key = tuple[object, ...]

#: Errors that are the fault of the machine, or of a tool, and of no trace.
MACHINE_FAILED = (EnvironmentFailedError, GaveUpError, MemoryError, OSError)

#: Specs that a Python worker keeps, which lives longer than a task.
MAX_LOADED_SPECS = 64

#: The specs of this worker by hash.
_loaded: dict[str, Spec] = {}


class ShippedText(NamedTuple):
    """The text of a compiled spec, and what Python makes of it, which takes longer than all else that loads it.

    `python` is the driver's: another one makes the code anew.
    """

    source: str
    code: bytes
    python: bytes

    @classmethod
    def from_spec(cls, spec: Spec) -> ShippedText:
        """Return what is to be shipped of a spec."""
        return cls(spec.source, marshal.dumps(spec.code), MAGIC_NUMBER)

    def spec(self) -> Spec:
        """Return the spec."""
        return Spec(self.source, marshal.loads(self.code) if self.python == MAGIC_NUMBER else None)


@dataclass(frozen=True, slots=True)
class ShippedSpecs:
    """The specs that the tasks of a batch need: the hash of each by its spec_key, and the text of each hash.

    `switches` replace constants of the headers; `failed` has the errors of the specs that could not be compiled. The
    specs have the definitions of coverage if the verdicts are to have it: `covers`.
    """

    switches: Switches
    hashes: Mapping[Key, str]
    texts: Mapping[str, Any]
    failed: Mapping[Key, Exception]
    covers: bool = False

    def spec(self, trace: str, key: Key) -> Spec:
        """Return a spec for a trace, in a task; raises what compiling it raised."""
        if (error := self.failed.get(key)) is not None:
            raise error.in_trace(trace) if isinstance(error, TraceError) else error
        digest = self.hashes[key]
        if digest not in _loaded:
            while len(_loaded) >= MAX_LOADED_SPECS:
                _loaded.pop(next(iter(_loaded)))
            _loaded[digest] = self.texts[digest].value.spec()
        return _loaded[digest]

    def hash(self, key: Key) -> str:
        """Return the SHA-256 of a spec's text, empty where it could not be compiled."""
        return self.hashes.get(key, "")


@dataclass(slots=True)
class SpecShipper:
    """Compiles the specs of headers in the driver, each once, and ships them.

    Errors of these classes (`fatal`) are raised; any other becomes the verdict of the traces that need the spec. The
    specs have the definitions of coverage if the shipper `covers`.
    """

    spark: SparkSession
    switches: Switches
    fatal: tuple[type[Exception], ...] = MACHINE_FAILED
    covers: bool = False
    _compiled: dict[Key, str | Exception] = field(default_factory=dict)
    _texts: dict[str, Any] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def ship(self, headers: Iterable[tuple[str, bytes | None]]) -> ShippedSpecs:
        """Return the specs for traces with these names and first lines.

        A line that is no header needs no spec: the check of the trace reports it.
        """
        with self._guard:  # batches are begun side by side
            keys = {key for name, header in headers if (key := self._compile(name, header)) is not None}
        compiled = {key: self._compiled[key] for key in keys}
        hashes = {key: each for key, each in compiled.items() if isinstance(each, str)}
        failed = {key: each for key, each in compiled.items() if isinstance(each, Exception)}
        texts = {each: self._texts[each] for each in hashes.values()}
        return ShippedSpecs(self.switches, hashes, texts, failed, self.covers)

    def _compile(self, name: str, line: bytes | None) -> Key | None:
        if line is None:
            return None
        try:
            header = opened([line], name).header
            key = spec_key(header, name, self.switches)
        except Exception:
            return None
        if key not in self._compiled:
            try:
                text = ShippedText.from_spec(trace_spec(header, name, self.switches, covers=self.covers))
            except self.fatal:
                raise
            except Exception as error:
                self._compiled[key] = error
            else:
                digest = self._compiled[key] = hashlib.sha256(text.source.encode()).hexdigest()
                self._texts[digest] = self.spark.sparkContext.broadcast(text)
        return key
