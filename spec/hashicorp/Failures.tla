------------------------------ MODULE Failures ------------------------------
(***************************************************************************)
(* Failures of the network and of the processes.  The reader learns what a *)
(* server loses when it goes down, and what it restores when it comes      *)
(* back.                                                                   *)
(*                                                                         *)
(* Durable are the three keys, the log, the snapshots.  Lost are the role, *)
(* the known leader, commitIndex, what the FSM has applied, and all calls. *)
(* A crash within a step is an outcome of that step (see Steps).           *)
(***************************************************************************)
EXTENDS Messages, Logs

\* ACTION Lose: a message to n is lost.
Lose(n) ==
    \E m \in Inbox(n) :
    /\ Loss /\ MayLose(n, m)
    /\ network' = Received(network, m)
    /\ UNCHANGED <<node, history>>

\* A request of a pipeline does not come twice on its connection: of two answers one would be left over, and
\* be taken for that of a later request without entries.
MayComeTwice(m) == m.kind = "request" /\ ~(Pipeline /\ IsRequest(m, "AppendEntries") /\ m.awaited)

\* ACTION Duplicate: a request to n will be delivered twice.
Duplicate(n) ==
    \E m \in Inbox(n) :
    /\ Duplication /\ MayDuplicate(n)
    /\ MayComeTwice(m)
    /\ network' = [network EXCEPT ![m.src][n] = Twice(@, m)]
    /\ UNCHANGED <<node, history>>

\* ACTION Crash: the process dies.
Crash(n) ==
    /\ Crashes /\ MayDie(n)
    /\ Runs(n)
    /\ Step(n, Down(node[n]))

-----------------------------------------------------------------------------
(* Coming back.                                                            *)

\* restoreSnapshot: the FSM begins with the newest snapshot, which counts as applied and committed.
FromSnapshot(before) ==
    IF before.snapshots = << >> THEN before
    ELSE [Restored(before, Newest(before.snapshots)) EXCEPT !.fsm.index = 0, !.fsm.term = 0]

\* The sketch applies the rest of the log, too.  The library waits for a leader, since the rest may not be
\* committed.
Replayed(before, from, to) ==
    IF ~ReplaysLog THEN before
    ELSE [before EXCEPT !.fsm = AppliedAll(@, ItemsFor(before, from, to)), !.lastApplied = Max({@, to})]

\* restoreFromCommittedLogs: what is known to be committed is applied, but no configuration is read of it.
WithCommitted(before) ==
    LET index == Min({before.storedCommit, before.lastLog.index})
    IN  IF ~RestoreCommittedLogs THEN before
        ELSE ProcessedLogs([before EXCEPT !.commitIndex = index], index)

\* NewRaft.  Of the log behind the snapshot, or what is applied, only the configurations are read.
Started(before) ==
    LET down == [before EXCEPT !.role = "Follower", !.lastLog = EndOf(before.log)]
        up   == WithCommitted(FromSnapshot(down))
        from == Max({up.lastSnapshot.index, up.lastApplied}) + 1
        to   == up.lastLog.index
    IN  IF to < from THEN up
        ELSE Replayed(ProcessConfigurations(up, from, Range(up, from, to)), from, to)

\* The log behind the snapshot has no gap: else NewRaft panics, again and again.
CanStart(before) ==
    LET from == IF before.snapshots = << >> THEN 1 ELSE Newest(before.snapshots).index + 1
    IN  HasRange(before, from, EndOf(before.log).index)

\* ACTION Restart: a server is started on what is durable.
\* Source: NewRaft, restoreSnapshot, restoreFromCommittedLogs, processConfigurationLogEntry.
Restart(n) ==
    /\ MayRestart(n)
    /\ node[n].role = "Shutdown"
    /\ CanStart(node[n])
    /\ Step(n, Started(node[n]))

=============================================================================
