------------------------------ MODULE Pipeline ------------------------------
(***************************************************************************)
(* The pipeline of AppendEntries.  The reader learns how a routine sends   *)
(* without waiting for answers, and when it goes back to single calls.     *)
(*                                                                         *)
(* A routine whose call has succeeded may open a pipeline, a connection on *)
(* which several requests are under way.  Each begins behind the entries   *)
(* of the one before.  Beside it a decoder takes the answers, in the order *)
(* of the requests; a success raises nextIndex and the matchIndex.  A      *)
(* refusal does not lower nextIndex: it closes the pipeline, and a single  *)
(* call finds out where the follower agrees (see Replication).  So does an *)
(* error of the connection (RPCError), and an entry that is gone.  What is *)
(* under way then may arrive, but its answer goes to nobody.               *)
(*                                                                         *)
(* Once a call has succeeded and nothing more is to be sent at once, the   *)
(* library opens a pipeline if the transport has one.  Here a routine may  *)
(* go on with single calls.                                                *)
(***************************************************************************)
EXTENDS Replication

\* The local nextIndex of pipelineReplicate: behind all that was sent.
PipelineIndex(runner) ==
    Max({runner.nextIndex} \cup {runner.inFlight[k].sentIndex + 1 : k \in DOMAIN runner.inFlight})

Pipelined(n, before, peer, count) ==
    LET runner == before.replication[peer]
        m      == ReplicationRequest(n, peer, before, runner.term, PipelineIndex(runner), count)
        call   == [sentIndex |-> SentIndex(m), old |-> FALSE]
    IN  Says([before EXCEPT !.replication[peer].pipeline = "OPEN",
                            !.replication[peer].inFlight = Append(@, call)],
             {m})

MayPipeline(runner) ==
    /\ runner.running
    /\ runner.pipeline = "OPEN" \/ (runner.pipeline = "ALLOWED" /\ runner.awaiting = "NOTHING")

\* ACTION PipelineSend: a routine sends its peer `count` entries behind those that it has sent, and goes on.
\* Source: pipelineReplicate, pipelineSend.
PipelineSend(n) ==
    \E peer \in Peers(n) :
    \E count \in Counts(node[n], PipelineIndex(RunnerFor(n, peer))) :
    /\ Pipeline
    /\ Runs(n) /\ MaySend(n, peer)
    /\ MayPipeline(RunnerFor(n, peer))
    /\ CanAppend(node[n], PipelineIndex(RunnerFor(n, peer)), count)
    /\ Act(n, Pipelined(n, node[n], peer, count))

\* ACTION PipelineAbort: an entry that should be sent is gone, and the routine goes back to single calls.
\* Source: pipelineSend, where setupAppendEntries fails.
PipelineAbort(n) ==
    \E peer \in Peers(n) :
    LET next == PipelineIndex(RunnerFor(n, peer))
    IN  /\ Runs(n)
        /\ RunnerFor(n, peer).pipeline = "OPEN"
        /\ ~CanAppend(node[n], next, Most(node[n], next))
        /\ GiveUp(n, peer, "AppendEntries", Closed(node[n], peer))

=============================================================================
