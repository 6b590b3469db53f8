"""Log replication of OpenMessaging DLedger 0.2.7, sans-IO, at the grain of spec/dledger/DLedger.tla.

`Server` is one node. Each action of the spec is a method of it by the same name (`HandleDoAppend` is
`handle_do_append`), which changes that node only and returns what it asks of the world outside.
"""

from raftref.action import Action, NotEnabled, trace_name
from raftref.dledger.effects import Abandoned, Effects
from raftref.dledger.member_state import Role
from raftref.dledger.messages import (
    BatchRequest,
    BatchResponse,
    Code,
    CommitRequest,
    ElectionMessage,
    ElectionRequest,
    ElectionResponse,
    ElectionType,
    Entry,
    HeartBeat,
    HeartBeatMessage,
    Index,
    Message,
    NodeId,
    PushType,
    Request,
    Response,
    Term,
    TransferCall,
    TransferMessage,
    Value,
    VoteMessage,
)
from raftref.dledger.server import ACTIONS, Server
from raftref.dledger.switches import (
    COARSE,
    FINE,
    GRAINS,
    PUBLISHED,
    REPAIRED,
    SWITCHES,
    VOTES,
    Grain,
    Switches,
    Variant,
)

__all__ = [
    "ACTIONS",
    "COARSE",
    "FINE",
    "GRAINS",
    "PUBLISHED",
    "REPAIRED",
    "SWITCHES",
    "VOTES",
    "Abandoned",
    "Action",
    "BatchRequest",
    "BatchResponse",
    "Code",
    "CommitRequest",
    "Effects",
    "ElectionMessage",
    "ElectionRequest",
    "ElectionResponse",
    "ElectionType",
    "Entry",
    "Grain",
    "HeartBeat",
    "HeartBeatMessage",
    "Index",
    "Message",
    "NodeId",
    "NotEnabled",
    "PushType",
    "Request",
    "Response",
    "Role",
    "Server",
    "Switches",
    "Term",
    "TransferCall",
    "TransferMessage",
    "Value",
    "Variant",
    "VoteMessage",
    "trace_name",
]
