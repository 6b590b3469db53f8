------------------------------- MODULE Zombies -------------------------------
(***************************************************************************)
(* Routines of a leadership that is over.  The reader learns what a        *)
(* routine may still send then.                                            *)
(*                                                                         *)
(* A routine reads the log when it builds a request.  It may do that after *)
(* the server has lost its leadership, and even got another leader's       *)
(* entries: the request has the routine's term, not the server's.  Nobody  *)
(* waits for the answers.                                                  *)
(***************************************************************************)
EXTENDS Replication

\* In a pipeline it may send more behind that.
SendsOn(before, zombie, count) ==
    IF ~Pipeline THEN before
    ELSE [before EXCEPT !.zombies = @ \cup {[zombie EXCEPT !.nextIndex = @ + count]}]

\* ACTION ZombieReplicateTo: such a routine sends entries, from the log as it is now, in its own term.
\* Source: replicateTo, between the end of a leadership and the next look at stopCh.
ZombieReplicateTo(n) ==
    \E zombie \in node[n].zombies :
    \E count \in Counts(node[n], zombie.nextIndex) :
    /\ MaySend(n, zombie.peer)
    /\ CanAppend(node[n], zombie.nextIndex, count)
    /\ Act(n, Says(SendsOn(node[n], zombie, count),
                   Unawaited({ReplicationRequest(n, zombie.peer, node[n], zombie.term, zombie.nextIndex,
                                                 count)})))

\* ACTION ZombieSendSnapshot: such a routine sends the latest snapshot.
\* Source: sendLatestSnapshot, likewise.
ZombieSendSnapshot(n) ==
    \E zombie \in node[n].zombies :
    /\ MaySend(n, zombie.peer)
    /\ MustSendSnapshot(node[n], zombie.nextIndex)
    /\ Act(n, Says(node[n], Unawaited({InstallSnapshotRequest(n, zombie.peer, zombie.term,
                                                              Newest(node[n].snapshots))})))

\* ACTION ZombieHeartbeat: the routine of heartbeats goes on until the other one has ended, which may wait
\* for an answer.
\* Source: heartbeat, until replicate closes stopHeartbeat.
ZombieHeartbeat(n) ==
    \E zombie \in node[n].zombies :
    /\ Heartbeats
    /\ MaySend(n, zombie.peer)
    /\ Act(n, Says(node[n], Unawaited({HeartbeatRequest(n, zombie.peer, zombie.term)})))

=============================================================================
