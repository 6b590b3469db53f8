-------------------------------- MODULE Logs --------------------------------
(***************************************************************************)
(* The log of a server, and the way of a committed entry to the FSM.  The  *)
(* reader learns why a server's copy of the end of its log may differ from *)
(* the log, and how entries get to the FSM.                                *)
(*                                                                         *)
(* LogStore is a function from indexes to entries: entries are stored at   *)
(* their own index, ranges are deleted, and nothing keeps it from having   *)
(* gaps.  The main loop keeps a copy of the last index and term, lastLog,  *)
(* which it sets itself: it is what requests are tested with.              *)
(***************************************************************************)
EXTENDS Steps, TLC

\* DeleteRange; both ends are deleted.
Deleted(log, from, to) == [i \in DOMAIN log \ (from..to) |-> log[i]]

\* StoreLogs: the entries take their places from `index` on.
Stored(log, index, entries) ==
    [i \in index .. index + Len(entries) - 1 |-> entries[i - index + 1]] @@ log

\* tryStageCommitIndex: with the next entries the log store keeps this commit index.
Staged(before, index) == IF RestoreCommittedLogs THEN [before EXCEPT !.storedCommit = index] ELSE before

\* The entries from one index to another, if all are there.
HasRange(state, from, to) == from..to \subseteq DOMAIN state.log
Range(state, from, to)    == [k \in 1..(to - from + 1) |-> state.log[from + k - 1]]

-----------------------------------------------------------------------------
(* Configurations count from when they are stored, committed or not.       *)

SetLatest(before, configuration, index) ==
    [before EXCEPT !.configurations.latest = configuration, !.configurations.latestIndex = index]

LatestIsCommitted(before) ==
    [before EXCEPT !.configurations.committed = before.configurations.latest,
                   !.configurations.committedIndex = before.configurations.latestIndex]

\* processConfigurationLogEntry, for each of the entries from `index` on.
RECURSIVE ProcessConfigurations(_, _, _)
ProcessConfigurations(before, index, entries) ==
    IF entries = << >> THEN before
    ELSE LET entry == Head(entries)
             next  == IF entry.type # "Configuration" THEN before
                      ELSE SetLatest(LatestIsCommitted(before), entry.configuration, index)
         IN  ProcessConfigurations(next, index + 1, Tail(entries))

\* The latest configuration when the log is cut at `index`: the committed one, if the cut takes the latest.
CutConfigurations(before, index) ==
    IF index > before.configurations.latestIndex THEN before
    ELSE SetLatest(before, before.configurations.committed, before.configurations.committedIndex)

-----------------------------------------------------------------------------
(* The FSM.                                                                *)

\* The FSM takes commands and barriers; the library keeps the rest from it.
IsForFsm(entry) == entry.type \in {"Command", "Barrier"}

\* A barrier leaves nothing in the FSM but its place.
Applied(fsm, item) ==
    [index   |-> item.index, term |-> item.entry.term,
     applied |-> IF item.entry.type = "Command" THEN Append(fsm.applied, item) ELSE fsm.applied]

RECURSIVE AppliedAll(_, _)
AppliedAll(fsm, items) == IF items = << >> THEN fsm ELSE AppliedAll(Applied(fsm, Head(items)), Tail(items))

\* Items for the FSM, of the log from one index to another.
ItemsFor(state, from, to) ==
    LET all     == [k \in 1..(to - from + 1) |-> [index |-> from + k - 1, entry |-> state.log[from + k - 1]]]
        Goes(x) == IsForFsm(x.entry)
    IN  SelectSeq(all, Goes)

ToFsm(before, items) ==
    IF FsmQueue THEN [before EXCEPT !.fsmQueue = @ \o items]
    ELSE [before EXCEPT !.fsm = AppliedAll(@, items)]

\* processLogs, up to `index`.  It panics if an entry is not there.
ProcessedLogs(before, index) ==
    IF index <= before.lastApplied THEN before
    ELSE IF ~HasRange(before, before.lastApplied + 1, index) THEN Down(before)
    ELSE [ToFsm(before, ItemsFor(before, before.lastApplied + 1, index)) EXCEPT !.lastApplied = index]

\* The FSM restores the snapshot s; what waits for it in the queue is applied before.
Restored(before, s) ==
    [before EXCEPT !.fsm = [index |-> s.index, term |-> s.term, applied |-> s.applied], !.fsmQueue = << >>,
                   !.lastApplied = s.index, !.lastSnapshot = PlaceOf(s),
                   !.configurations = [committed |-> s.configuration, committedIndex |-> s.configurationIndex,
                                       latest |-> s.configuration, latestIndex |-> s.configurationIndex]]

\* ACTION ApplyFsm: the FSM applies the first entry that waits for it.
\* Source: runFSM, applySingle.
ApplyFsm(n) ==
    /\ Runs(n)
    /\ node[n].fsmQueue # << >>
    /\ Step(n, [node[n] EXCEPT !.fsm = Applied(@, Head(node[n].fsmQueue)), !.fsmQueue = Tail(@)])

=============================================================================
