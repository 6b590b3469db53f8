"""Diagnoses of small specs: the spec's text, a trace that leaves it, and the causes that are named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lockstep.conformance.changed_steps import ChangedSteps
from lockstep.conformance.diagnosis import DeviationCause, Diagnosis
from lockstep.conformance.trace_check import TraceCheck
from lockstep.jobs.listed_trace import ListedTrace
from lockstep.models.search_result import SpecFiles
from lockstep.systems.mapped_spec import MappedSpec, load_mapped_spec
from lockstep.systems.own_traces import load_own_spec
from lockstep.systems.trace_diagnosis import own_diagnosis
from lockstep.trace.trace_format import Event, Header, write_trace

#: An event of a trace: its action, and what the node shows after it.
Shown = tuple[str, dict[str, Any]]


def diagnosed(
    folder: Path, text: str, events: Sequence[Shown], nodes: Sequence[str] = (), init: str = "Init"
) -> Diagnosis:
    """Return the diagnosis of a trace of a spec, given its definitions.

    Arguments: `nodes`, those of the first events; the others are of n1; `init`, the initial predicate.
    """
    header, of = Header("lockstep-trace/1", "mine", "1", "Own", ("n1", "n2"), {}), dict(enumerate(nodes))
    listed = [
        Event(seq=seq, node=of.get(seq, "n1"), action=action, shows=shows) for seq, (action, shows) in enumerate(events)
    ]
    write_trace(folder / "t.ndjson", header, listed)
    found = own_diagnosis(folder / "t.ndjson", _loaded(folder, text, init))
    assert found is not None
    return found


def first(folder: Path, text: str, events: Sequence[Shown], init: str = "Init") -> DeviationCause:
    """Return the first cause of a trace's deviation; arguments as of `diagnosed`."""
    return diagnosed(folder, text, events, init=init).causes[0]


def steps_of(folder: Path, text: str) -> ChangedSteps:
    """Return the changed steps of a spec, given its definitions, for a trace without events."""
    loaded = _loaded(folder, text)
    check = TraceCheck(ListedTrace.numbered("t", []), loaded.spec, loaded.interface)
    return ChangedSteps(check, load_own_spec(loaded.files, loaded.system, has_probes=True))


def _loaded(folder: Path, text: str, init: str = "Init") -> MappedSpec:
    (folder / "Own.tla").write_text(f"---- MODULE Own ----\nEXTENDS Integers\n{text.strip()}\n====")
    constants = 'CONSTANT Features = {"Slow"}\n' if "CONSTANT" in text else ""
    (folder / "Own.cfg").write_text(f"INIT {init}\nNEXT Next\n{constants}")
    return load_mapped_spec(SpecFiles(folder / "Own.tla", folder / "Own.cfg"))
