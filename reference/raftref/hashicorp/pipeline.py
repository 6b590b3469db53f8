"""The pipeline of AppendEntries: a routine sends without waiting for answers.

Its answers are taken where those of single calls are (replication.py).

Source: pipelineReplicate, pipelineSend.
"""

from __future__ import annotations

from raftref.hashicorp.choices import Feature
from raftref.hashicorp.messages import RpcType
from raftref.hashicorp.replication import append_entries_request, can_append, has_entries, most_entries
from raftref.hashicorp.server import Server
from raftref.hashicorp.steps import step
from raftref.hashicorp.values import NodeId


def can_pipeline_send(server: Server, peer: NodeId, count: int) -> bool:
    """The routine has a pipeline, or may open one, and the entries are there, as many as a request can have."""
    replication = server.replication(peer)
    may_pipeline = server.has(Feature.PIPELINE) and server.is_up and replication.may_pipeline
    return may_pipeline and can_append(server, replication.pipeline_index, count)


@step(when=can_pipeline_send)
def pipeline_send(server: Server, peer: NodeId, count: int) -> None:
    """Send a peer entries behind those that were sent, and wait for no answer.

    Args:
        server: The leader.
        peer: The receiver.
        count: The number of entries.

    Source: pipelineReplicate, pipelineSend.
    """
    replication = server.replication(peer)
    first = replication.pipeline_index
    m = append_entries_request(server, peer, replication.term, first, count)
    server.send(m)
    server.set_replication(peer, replication.pipelined(m.sent_index))


def can_pipeline_abort(server: Server, peer: NodeId) -> bool:
    """The routine has a pipeline, and an entry that it should send is gone."""
    replication = server.replication(peer)
    next_index = replication.pipeline_index
    gone = not has_entries(server, next_index, most_entries(server, next_index))
    return server.is_up and replication.has_pipeline and gone


@step(when=can_pipeline_abort)
def pipeline_abort(server: Server, peer: NodeId) -> None:
    """Close the pipeline, since an entry that should be sent is gone, and go back to single calls.

    Source: pipelineSend, where setupAppendEntries fails.
    """
    server.effects.abandon({RpcType.APPEND_ENTRIES}, peer)
    server.set_replication(peer, server.replication(peer).closed())
