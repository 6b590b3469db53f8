----------------------------- MODULE Snapshots ------------------------------
(***************************************************************************)
(* Snapshots: taken, saved, sent, installed.  The reader learns which      *)
(* steps of a snapshot run beside the main loop, and what a server does    *)
(* not check before it installs one.                                       *)
(*                                                                         *)
(* A snapshot is the state of the FSM after some index.  It is taken in    *)
(* three steps of a routine of its own: the FSM is read; it is saved, and  *)
(* is the last snapshot from then on; the log before it is deleted, but    *)
(* for TrailingLogs entries.  Between them the main loop goes on, and may  *)
(* install a snapshot that a leader sends.                                 *)
(*                                                                         *)
(* A server that installs a snapshot goes back to it, whatever it has      *)
(* applied (StaleInstall), and leaves its log as it is, whatever that has  *)
(* at the snapshot's index (ConflictAtSnapshot).                           *)
(*                                                                         *)
(* The store keeps the RetainSnapshots newest, two of one place among      *)
(* them.  A snapshot that is older than all of these is removed as it is   *)
(* saved, and the FSM cannot open it: the leader gets an error, and sends  *)
(* it again (ReapedInstall).                                               *)
(***************************************************************************)
EXTENDS Messages, Logs

-----------------------------------------------------------------------------
(* The store: FileSnapshotStore, Close and ReapSnapshots.                  *)

\* The number of the snapshots that are newer than s.
NewerThan(snapshots, s) == Cardinality({k \in DOMAIN snapshots : Newer(snapshots[k], s)})

\* Example: two are kept at most, and there are two of index 7.  Another of index 7 comes before them, and the
\* last of the three goes; so it is with one of index 9.  One of index 5 goes itself.
Saved(snapshots, s) ==
    LET newer(t)    == Newer(t, s)
        notNewer(t) == ~Newer(t, s)
        all         == SelectSeq(snapshots, newer) \o <<s>> \o SelectSeq(snapshots, notNewer)
    IN  [k \in 1..Min({RetainSnapshots, Len(snapshots) + 1}) |-> all[k]]

\* ReapSnapshots removes s as soon as it is saved.
IsReaped(snapshots, s) == NewerThan(snapshots, s) >= RetainSnapshots

-----------------------------------------------------------------------------
(* Compacting: compactLogs.                                                *)

\* Example: a snapshot at 7, a log to 9, three trailing logs: up to 6 is deleted.
LastToDelete(state, index) == Min({index, state.lastLog.index - TrailingLogs})
NeedsCompacting(state, index) ==
    /\ state.lastLog.index > TrailingLogs
    /\ \E i \in DOMAIN state.log : i <= LastToDelete(state, index)
Compacted(before, index) ==
    IF ~NeedsCompacting(before, index) THEN before
    ELSE [before EXCEPT !.log = Deleted(@, 1, LastToDelete(before, index))]

-----------------------------------------------------------------------------
(* Taking one.                                                             *)

\* ACTION TakeSnapshot: the state of the FSM is read, and the committed configuration with it.
\* Source: takeSnapshot, up to Create.  There must be something to snapshot, and a configuration that the FSM
\* has not come to yet must wait.
TakeSnapshot(n) ==
    LET state    == node[n]
        snapshot == [index |-> state.fsm.index, term |-> state.fsm.term,
                     configuration |-> state.configurations.committed,
                     configurationIndex |-> state.configurations.committedIndex,
                     applied |-> state.fsm.applied]
    IN  /\ Snapshots /\ MayTakeSnapshot(n)
        /\ Selects(n)
        /\ state.snapshotting.phase = "NONE"
        /\ state.role = "Leader" => ~state.transfer.inProgress
        /\ state.fsm.index > 0
        /\ state.fsm.index >= state.configurations.committedIndex
        /\ Step(n, [state EXCEPT !.snapshotting = [phase |-> "TAKEN", snapshot |-> snapshot]])

SnapshotPersisted(before) ==
    LET s     == before.snapshotting.snapshot
        saved == [before EXCEPT !.snapshots = Saved(@, s)]
        last  == IF SavesOlderSnapshot \/ s.index >= saved.lastSnapshot.index THEN PlaceOf(s)
                 ELSE saved.lastSnapshot
    IN  [node   |-> [saved EXCEPT !.lastSnapshot = last, !.snapshotting.phase = "SAVED"],
         out    |-> {},
         writes |-> <<Write(saved, Quietly([before EXCEPT !.snapshotting = NoSnapshotting]))>>]

\* ACTION PersistSnapshot: the snapshot is saved, and is the last one from now on.
\* Source: takeSnapshot, Persist, Close, setLastSnapshot.
PersistSnapshot(n) ==
    \E outcome \in Outcomes(n, SnapshotPersisted(node[n])) :
    /\ Runs(n)
    /\ node[n].snapshotting.phase = "TAKEN"
    /\ Act(n, Outcome(SnapshotPersisted(node[n]), outcome))

LogsCompacted(before) ==
    LET ends    == [before EXCEPT !.snapshotting = NoSnapshotting]
        after   == Compacted(ends, before.snapshotting.snapshot.index)
    IN  [node   |-> after,
         out    |-> {},
         writes |-> IF after.log = before.log THEN << >> ELSE <<Write(after, Quietly(ends))>>]

\* ACTION CompactLogs: the entries before the snapshot are deleted, but for the trailing ones.
\* Source: takeSnapshot, compactLogs.
CompactLogs(n) ==
    \E outcome \in Outcomes(n, LogsCompacted(node[n])) :
    /\ Runs(n)
    /\ node[n].snapshotting.phase = "SAVED"
    /\ Act(n, Outcome(LogsCompacted(node[n]), outcome))

-----------------------------------------------------------------------------
(* Installing one.                                                         *)

\* The entry at the snapshot's index is the snapshot's: it is in the log, or was applied.
AgreesWith(state, s) ==
    \/ s.index <= state.lastApplied
    \/ HasEntry(state, s.index) /\ state.log[s.index].term = s.term

\* Repaired: a log that does not agree with the snapshot goes as a whole.
Reconciled(before, s, agrees) ==
    IF KeepsConflictingLog \/ agrees THEN Compacted(before, s.index)
    ELSE [before EXCEPT !.log = << >>, !.lastLog = NoPlace]

\* Repaired: a snapshot of what was applied already is there in effect.
IsStale(state, s) == ~InstallsStale /\ s.index <= state.lastApplied

\* A snapshot that is reaped as it is saved cannot be opened: an error, no answer, and all stays as it was.
\* Repaired, the server answers with success, since its own snapshots are newer.
SnapshotHandled(before, m) ==
    LET s         == m.snapshot
        rises     == m.term > before.currentTerm
        at        == IF rises THEN FollowerIn(before, m.term) ELSE before
        known     == [at EXCEPT !.leader = m.src]
        saved     == [known EXCEPT !.snapshots = Saved(@, s)]
        restored  == Restored(saved, s)
        after     == Reconciled(restored, s, AgreesWith(known, s))
        entering  == IF rises THEN <<TermWrite(before, at)>> ELSE << >>
        saving    == <<Write(saved, Quietly(known))>>
        success   == InstallSnapshotResponse(m, at.currentTerm, TRUE)
        reaped    == IF FailsToOpenReaped THEN {} ELSE success
        deleting  == IF after.log = restored.log THEN << >> ELSE <<Write(after, Says(restored, success))>>
    IN  IF m.term < before.currentTerm
        THEN Says(before, InstallSnapshotResponse(m, before.currentTerm, FALSE))
        ELSE IF IsStale(known, s) THEN [node |-> known, out |-> success, writes |-> entering]
        ELSE IF IsReaped(known.snapshots, s)
        THEN [node |-> known, out |-> reaped, writes |-> entering \o saving]
        ELSE [node |-> after, out |-> success, writes |-> entering \o saving \o deleting]

\* ACTION InstallSnapshot: n takes the snapshot of its leader for its own.
\* Source: installSnapshot.
InstallSnapshot(n) ==
    \E m \in Inbox(n) : \E outcome \in AnyOutcome :
    LET handled == SnapshotHandled(node[n], m) IN
    /\ IsRequest(m, "InstallSnapshot")
    /\ Selects(n)
    /\ outcome \in Outcomes(n, handled)
    /\ Handle(n, m, Outcome(handled, outcome))

=============================================================================
