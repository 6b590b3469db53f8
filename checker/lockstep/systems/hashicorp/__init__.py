"""hashicorp/raft: all that lockstep knows of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from lockstep.base.progress import Say
from lockstep.conformance.spec_interface import Outbox
from lockstep.systems.hashicorp.constants import CONSTANTS
from lockstep.systems.hashicorp.picture import CLIENT_WRITES, FAULTS, PICTURE
from lockstep.systems.hashicorp.plans import SIMULATOR
from lockstep.systems.system import Compile, Floor, ImportOptions, RawFormat, System
from lockstep.tla.spec import Spec
from lockstep.trace.imported_trace import Imported

if TYPE_CHECKING:
    from lockstep.systems.hunted_group import Hunted
    from lockstep.systems.logged_facts import OwnLogs
    from lockstep.systems.node_recorder import NodeRecorder
    from lockstep.systems.running_nodes import RunningNodes
    from lockstep.systems.wire_format import WireFormat

#: The codes of the properties. A number is given once, and never to another.
CODES: Mapping[str, str] = MappingProxyType(
    {
        "TypeOK": "HR101",
        "ElectionSafety": "HR102",
        "LogMatching": "HR103",
        "LeaderCompleteness": "HR104",
        "StateMachineSafety": "HR105",
        "AppliedIsCommitted": "HR106",
        "IndexOrder": "HR107",
        "LastLogIsEnd": "HR108",
        "LogAgreesWithSnapshot": "HR109",
        "OneChangeAtATime": "HR110",
        "VerifiedLeads": "HR111",
        "TransferIsOwn": "HR112",
        "VoteOncePerTermProp": "HR121",
        "TermsRiseProp": "HR122",
        "LeaderAppendOnlyProp": "HR123",
        "CommittedEntriesStayProp": "HR124",
        "FsmNeverGoesBackProp": "HR125",
        "SnapshotsRiseProp": "HR126",
        "CommitMonotonicProp": "HR127",
    }
)


def _is_recording(_path: Path, begin: bytes) -> bool:
    return b'"hcraft-capture-' in begin


def _read_recording(paths: Sequence[Path], _options: ImportOptions, compile_: Compile, say: Say) -> Imported:
    # What reads a recording is slow to import, and only this needs it.
    from lockstep.systems.hashicorp.recording_import import import_recording

    (path,) = paths
    return import_recording(path, compile_, say)


def _recorder() -> NodeRecorder:
    # Slow to import, and only merging needs it.
    from lockstep.systems.hashicorp.merged_recording import RECORDER

    return RECORDER


def _floors(plan: str, spec: Spec) -> tuple[Floor, ...]:
    # Only fleets have floors; what is argued there of each plan is slow to import, too.
    from lockstep.systems.hashicorp.floors import floors

    return floors(plan, spec)


def reference_location(action: str) -> str:
    """Return FILE:LINE of the reference's method for an action, or "" where it has none.

    The environment's own actions (loss, copies) have none.
    """
    # Only a finding names an action of the reference, which is slow to import.
    from raftref.hashicorp.hashicorp_raft import ACTIONS

    return ACTIONS[action].location if action in ACTIONS else ""


def _own_logs() -> OwnLogs:
    from lockstep.systems.hashicorp.own_lines import OWN_LOGS

    return OWN_LOGS


def _wire() -> WireFormat:
    # Slow to import, and only a tap needs it.
    from lockstep.systems.hashicorp.wire import WIRE

    return WIRE


def _hunted() -> Hunted:
    """Return what `lockstep hunt` searches."""
    # Slow to import, and only a hunt needs it.
    from lockstep.systems.hashicorp.hunted import HUNTED

    return HUNTED


def _running() -> RunningNodes:
    """Return what `lockstep node`, `cluster` and `client` need."""
    # Slow to import, and only they need it.
    from lockstep.systems.hashicorp.running import RUNNING_NODES

    return RUNNING_NODES


HASHICORP = System(
    spec="HashicorpRaft",
    title="hashicorp/raft",
    root=Path("hashicorp", "HashicorpRaft.tla"),
    cfg=Path("hashicorp", "Trace.cfg"),
    constants=CONSTANTS,
    observe="Observe",
    outbox=Outbox("Outbox", "network", ("src", "dst")),
    null="NoNode",
    least_integer=0,
    codes=CODES,
    locate=reference_location,
    formats=(RawFormat("a recording", _is_recording, _read_recording),),
    recorder=_recorder,
    simulator=SIMULATOR,
    coverage=Path("hashicorp", "Reached.tla"),
    floors=_floors,
    models=Path("hashicorp", "models"),
    lemmas=MappingProxyType(
        {
            name: f"lockstep.systems.hashicorp.{module}"
            for name, module in (
                ("quorum_match_index", "quorum_match_index"),
                ("quorum_match_index_any_size", "quorum_match_index"),
                ("applied_order_inductive", "applied_order_inductive"),
            )
        }
    ),
    picture=PICTURE,
    hunted=_hunted,
    running=_running,
    own_logs=_own_logs,
    wire=_wire,
    faults=FAULTS,
    client_writes=CLIENT_WRITES,
)
