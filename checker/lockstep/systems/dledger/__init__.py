"""OpenMessaging DLedger: all that lockstep knows of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from lockstep.base.progress import Say
from lockstep.conformance.spec_interface import Outbox
from lockstep.systems.dledger.codes import CODES
from lockstep.systems.dledger.constants import CONSTANTS
from lockstep.systems.dledger.picture import CLIENT_WRITES, FAULTS, PICTURE
from lockstep.systems.dledger.plans import SIMULATOR
from lockstep.systems.system import Compile, Floor, ImportOptions, RawFormat, System
from lockstep.tla.spec import Spec
from lockstep.trace.imported_trace import Imported

if TYPE_CHECKING:
    from lockstep.systems.hunted_group import Hunted
    from lockstep.systems.logged_facts import OwnLogs
    from lockstep.systems.node_recorder import NodeRecorder
    from lockstep.systems.running_nodes import RunningNodes
    from lockstep.systems.wire_format import WireFormat

_DIGITS = frozenset(b"%d" % digit for digit in range(10))


def _is_recording(path: Path, begin: bytes) -> bool:
    return b'"dledger-capture/' in begin and not _is_log(path, b"")


def _is_log(path: Path, begin: bytes) -> bool:
    """Return whether a file is DLedger's own log, by its name (`a.log`, or rotated `a.log.1.gz`) or its first line.

    `a.log.trace.ndjson` is a trace of one.
    """
    if path.name.endswith(".trace.ndjson"):
        return False
    return path.suffix == ".log" or ".log." in path.name or begin[:1] in _DIGITS


def _read_recording(paths: Sequence[Path], _options: ImportOptions, _compile: Compile, say: Say) -> Imported:
    # Slow to import, and only this needs it.
    from lockstep.systems.dledger.recording_import import import_recording

    (path,) = paths
    return import_recording(path, say)


def _recorder() -> NodeRecorder:
    # Slow to import, and only merging needs it.
    from lockstep.systems.dledger.merged_recording import RECORDER

    return RECORDER


def _read_log(paths: Sequence[Path], options: ImportOptions, compile_: Compile, say: Say) -> Imported:
    from lockstep.systems.dledger.log_import import import_log

    return import_log(paths, options.version or LOGGED_VERSION, compile_, say, options.skew)


def _floors(plan: str, spec: Spec) -> tuple[Floor, ...]:
    # Slow to import, and only fleets have floors.
    from lockstep.systems.dledger.floors import floors

    return floors(plan, spec)


def _locate(action: str) -> str:
    """Return FILE:LINE of the reference's method for an action, or "" where it has none, as of Lose and Duplicate."""
    # Slow to import, and only a finding names an action of the reference.
    from raftref.action import declared_at
    from raftref.dledger.server import Server

    return declared_at(Server, action)


def _running() -> RunningNodes:
    from lockstep.systems.dledger.running import RUNNING_NODES

    return RUNNING_NODES


def _own_logs() -> OwnLogs:
    from lockstep.systems.dledger.own_lines import OWN_LOGS

    return OWN_LOGS


def _wire() -> WireFormat:
    # Slow to import, and only a tap needs it.
    from lockstep.systems.dledger.wire import WIRE

    return WIRE


def _hunted() -> Hunted:
    """Return what `lockstep hunt` searches."""
    # Slow to import, and only a hunt needs it.
    from lockstep.systems.dledger.hunted import HUNTED

    return HUNTED


#: The version of a log, which the log does not say, unless the command does.
LOGGED_VERSION = "0.2.7"

DLEDGER = System(
    spec="DLedger",
    title="DLedger",
    root=Path("dledger", "DLedger.tla"),
    cfg=Path("dledger", "Trace.cfg"),
    constants=CONSTANTS,
    observe="Observe",
    outbox=Outbox("Outbox", "network", ("src", "dst")),
    null="NoNode",
    least_integer=-1,
    codes=CODES,
    locate=_locate,
    formats=(
        RawFormat("a log", _is_log, _read_log, is_explained=True),
        RawFormat("a recording", _is_recording, _read_recording),
    ),
    recorder=_recorder,
    simulator=SIMULATOR,
    coverage=Path("dledger", "Reached.tla"),
    floors=_floors,
    models=Path("dledger", "models"),
    lemmas=MappingProxyType(
        {"index_order_inductive": "lockstep.systems.dledger.index_order_inductive"},
    ),
    picture=PICTURE,
    hunted=_hunted,
    running=_running,
    own_logs=_own_logs,
    wire=_wire,
    faults=FAULTS,
    client_writes=CLIENT_WRITES,
)
