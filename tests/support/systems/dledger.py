"""DLedger as the tests ask for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lockstep.conformance.by_tlc.tlc_trace_check import TlcSpec
from lockstep.conformance.json_values import Words
from lockstep.conformance.property_evaluation import Evaluation, IncrementalEvaluation
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.trace_check import Events, check_trace
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.dledger import DLEDGER
from lockstep.systems.trace_specs import Switches, tlc_spec
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import ModelValue
from lockstep.trace.trace_format import Header

#: The values of the words of a trace of DLedger: null is no node.
WORDS = Words(ModelValue("NoNode"))

assert DLEDGER.constants is not None
CONSTANTS = DLEDGER.constants
VARIANTS = CONSTANTS.variants


def interface(spec: Spec) -> Interface:
    """Where a trace of DLedger meets its spec."""
    return DLEDGER.interface(spec)


def check_dledger(
    trace: Events, spec: Spec, evaluation: Callable[[Spec], Evaluation] = IncrementalEvaluation
) -> TraceVerdict:
    """Check a trace of DLedger."""
    return check_trace(trace, spec, interface(spec), evaluation)


def dledger_tlc_spec(header: Header, source: str, switches: Switches | None = None, jar: Path | None = None) -> TlcSpec:
    """Return the spec that TLC holds a trace of DLedger against."""
    return tlc_spec(DLEDGER, header, source, switches, jar)
