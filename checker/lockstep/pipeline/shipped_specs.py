"""Compiled specs on their way to the tasks: each once, by its hash.

They go as broadcasts. An executor fetches one when the first of its tasks asks for it, from whoever has it already,
and its Python workers read it from the local disk. What `SparkContext.addFile` ships every executor fetches at the
start of its next task, needed or not, and no session can take it back; what a function closes over goes with every
task.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from lockstep.pipeline.stage_batches import MACHINE_FAILED
from lockstep.systems.trace_files import opened
from lockstep.systems.trace_specs import Switches, spec_key, trace_spec
from lockstep.tla.spec import Spec
from lockstep.trace.json_lines import TraceError

Key = tuple[object, ...]

#: A Python worker lives longer than a task, and keeps so many compiled specs.
_KEPT = 64


@dataclass(frozen=True, slots=True)
class Shipped:
    """What the tasks of a batch need of specs: the hash of each by its spec_key, and the text of each hash.

    `switches` replace constants of the headers; `failed` says of the specs that could not be compiled why.
    """

    switches: Switches
    hashes: Mapping[Key, str]
    texts: Mapping[str, Any]
    failed: Mapping[Key, Exception]

    def spec(self, key: Key, trace: str) -> Spec:
        """Return a spec for a trace, in a task; raises what compiling it raised."""
        if (error := self.failed.get(key)) is not None:
            raise error.in_trace(trace) if isinstance(error, TraceError) else error
        digest = self.hashes[key]
        if digest not in _MADE:
            while len(_MADE) >= _KEPT:
                _MADE.pop(next(iter(_MADE)))
            _MADE[digest] = Spec.from_source(self.texts[digest].value)
        return _MADE[digest]

    def hash(self, key: Key) -> str:
        """Return the SHA-256 of a spec's text, empty where it could not be compiled."""
        return self.hashes.get(key, "")


#: The specs of this worker by hash, which outlive the task that asked for them.
_MADE: dict[str, Spec] = {}


@dataclass(slots=True)
class Shipping:
    """Compiles the specs of headers in the driver, each once, and ships them."""

    spark: SparkSession
    switches: Switches
    _known: dict[Key, str | Exception] = field(default_factory=dict)
    _texts: dict[str, Any] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def of(self, headers: Iterable[tuple[str, bytes | None]]) -> Shipped:
        """Return what tasks need for traces with these names and first lines.

        A header that is none needs no spec: the trace's verdict says so where the trace is checked.
        """
        with self._guard:  # batches are begun side by side
            keys = {key for name, header in headers if (key := self._compiled(name, header)) is not None}
        known = {key: self._known[key] for key in keys}
        hashes = {key: found for key, found in known.items() if isinstance(found, str)}
        failed = {key: found for key, found in known.items() if isinstance(found, Exception)}
        return Shipped(self.switches, hashes, {each: self._texts[each] for each in hashes.values()}, failed)

    def _compiled(self, name: str, header: bytes | None) -> Key | None:
        if header is None:
            return None
        try:
            read = opened([header], name).header
            key = spec_key(read, name, self.switches)
        except Exception:  # the task that checks the trace will say it
            return None
        if key not in self._known:
            try:
                text = trace_spec(read, name, self.switches).source
            except MACHINE_FAILED:
                raise  # As a verdict of traces it would stay.
            except Exception as error:  # The traces that need this spec get it as their verdict, the others go on.
                self._known[key] = error
            else:
                digest = self._known[key] = hashlib.sha256(text.encode()).hexdigest()
                self._texts[digest] = self.spark.sparkContext.broadcast(text)
        return key
