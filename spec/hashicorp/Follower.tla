------------------------------ MODULE Follower ------------------------------
(***************************************************************************)
(* The follower of AppendEntries.  The reader learns the eight steps of    *)
(* appendEntries, in their order, and which of them a crash or a failure   *)
(* of the store separates.                                                 *)
(*   1  lastLog of the answer is the end of the log before other steps     *)
(*   2  a request of an older term is refused                              *)
(*   3  a newer term is entered, and the server becomes a follower         *)
(*   4  the sender is the leader, whatever its log                         *)
(*   5  the entry before the new ones must be there, with its term         *)
(*   6  entries that are there are skipped; from the first that differs on *)
(*      the log is deleted; the rest is stored                             *)
(*   7  commitIndex goes to the leader's, or to the end of the log         *)
(*   8  the answer is a success                                            *)
(* Step 7 takes the end of the log, not the last entry of the request.     *)
(* Behind that entry the log may have others, which the leader does not    *)
(* know (CommitUnverified).  Step 5 looks for the entry in the log, where  *)
(* it is no more if a snapshot took its place; the snapshot counts only as *)
(* long as nothing is behind it (CompactedPrevRejected).                   *)
(***************************************************************************)
EXTENDS Messages, Logs

\* Step 3.  A candidate that a leader has chosen goes on, unless the term is newer.
Yields(before, m) ==
    \/ m.term > before.currentTerm
    \/ before.role # "Follower" /\ ~before.campaign.transfer

\* Repaired: the snapshot has taken the place of this entry.
IsCompacted(state, index) ==
    ~SearchesLogAlone /\ index <= state.lastSnapshot.index /\ ~HasEntry(state, index)

\* Step 5: the entry at prevLogEntry, from the end of log or snapshot, else from the log; term 0: not there.
PrevTerm(state, index) ==
    IF index = LastEntry(state).index THEN LastEntry(state).term
    ELSE IF HasEntry(state, index) THEN state.log[index].term
    ELSE IF IsCompacted(state, index) /\ index = state.lastSnapshot.index THEN state.lastSnapshot.term ELSE 0

\* Repaired: what is below the snapshot is committed, so the leader has it, too, whatever its term.
PrevMatches(state, m) ==
    \/ m.prevLogEntry = 0
    \/ PrevTerm(state, m.prevLogEntry) = m.prevLogTerm
    \/ IsCompacted(state, m.prevLogEntry) /\ m.prevLogEntry < state.lastSnapshot.index

-----------------------------------------------------------------------------
(* Step 6.                                                                 *)

\* The index of the k-th new entry.
IndexOf(m, k) == m.prevLogEntry + k

\* The first new entry that is not in the log: it lies behind the end, or differs.  As in 0.1: the first of
\* all.  One that lies before the end and cannot be read ends the request; repaired, one that was compacted is
\* skipped.
Unreadable(state, m, k) == IndexOf(m, k) <= state.lastLog.index /\ ~HasEntry(state, IndexOf(m, k))
Differs(state, m, k) ==
    \/ IndexOf(m, k) > state.lastLog.index
    \/ TruncatesAlways
    \/ HasEntry(state, IndexOf(m, k)) /\ state.log[IndexOf(m, k)].term # m.entries[k].term
Stops(state, m)    == {k \in 1..Len(m.entries) : /\ ~IsCompacted(state, IndexOf(m, k))
                                                 /\ Unreadable(state, m, k) \/ Differs(state, m, k)}
FirstStop(state, m) == Min(Stops(state, m))

\* The deleted entries: all from the first new entry that differs.
Conflicts(state, m) == Stops(state, m) # {} /\ IndexOf(m, FirstStop(state, m)) <= state.lastLog.index
Truncated(state, m) ==
    LET index == IndexOf(m, FirstStop(state, m))
        cut   == [CutConfigurations(state, index) EXCEPT !.log = Deleted(@, index, state.lastLog.index)]
    IN  IF LeavesStaleEnd THEN cut
        ELSE [cut EXCEPT !.lastLog = EndOf(cut.log)]

\* The stored entries: the rest of the new ones.
EndOfRequest(m) == m.prevLogEntry + Len(m.entries)
NewEnd(state, m) ==
    LET end == [index |-> EndOfRequest(m), term |-> m.entries[Len(m.entries)].term]
    IN  IF KeepsLongEnd /\ state.lastLog.index > end.index THEN state.lastLog ELSE end
StoredNew(before, cut, m) ==
    LET first  == FirstStop(before, m)
        rest   == SubSeq(m.entries, first, Len(m.entries))
        stored == Staged([cut EXCEPT !.log = Stored(@, IndexOf(m, first), rest)],
                         Min({m.leaderCommitIndex, EndOfRequest(m)}))
    IN  [ProcessConfigurations(stored, IndexOf(m, first), rest) EXCEPT !.lastLog = NewEnd(before, m)]

-----------------------------------------------------------------------------
(* Step 7.                                                                 *)

CommitsUpTo(state, m) ==
    Min({m.leaderCommitIndex, IF CommitsUnverified THEN LastIndex(state) ELSE EndOfRequest(m)})

Committed(before, m) ==
    LET index == CommitsUpTo(before, m)
        at    == [before EXCEPT !.commitIndex = index]
        known == IF at.configurations.latestIndex <= index THEN LatestIsCommitted(at) ELSE at
    IN  IF m.leaderCommitIndex <= before.commitIndex \/ (index <= before.commitIndex /\ ~CommitsUnverified)
        THEN before
        ELSE ProcessedLogs(known, index)

-----------------------------------------------------------------------------
(* All eight steps.                                                        *)

\* The handler runs beside a main loop that waits as a candidate, or as a leader, or that has just won a
\* pre-vote.
Overtakes(state, request) ==
    /\ HeartbeatsRace /\ request.type = "Heartbeat"
    /\ \/ state.loop = "OVERTAKEN"
       \/ state.loop = "SELECT" /\ (state.role = "Leader" \/ state.campaign.phase # "NONE")
       \/ state.loop = "CAMPAIGN" /\ state.campaign.phase = "VOTE"

AppendHandled(before, request) ==
    LET m          == AsAppendEntries(request)
        yields     == Yields(before, m)
        at         == IF ~yields THEN before
                      ELSE IF Overtakes(before, request) THEN OvertakenIn(before, m.term)
                      ELSE FollowerIn(before, m.term)
        known      == [at EXCEPT !.leader = m.src]
        Answer(success, noRetry) ==
            AppendEntriesResponse(request, at.currentTerm, LastIndex(before), success, noRetry)
        Failed(s)  == Says(s, Answer(FALSE, FALSE))
        entering   == IF yields THEN <<TermWrite(before, at)>> ELSE << >>
        stops      == Stops(known, m)
        conflicts  == Conflicts(known, m)
        cut        == IF conflicts THEN Truncated(known, m) ELSE known
        cutting    == IF conflicts THEN <<Write(cut, Failed(known))>> ELSE << >>
        stored     == IF stops = {} THEN known ELSE StoredNew(known, cut, m)
        storing    == IF stops = {} THEN << >> ELSE <<Write(stored, Failed(cut))>>
        after      == Committed(stored, m)
    IN  IF m.term < before.currentTerm
        THEN Says(before, AppendEntriesResponse(request, before.currentTerm, LastIndex(before), FALSE, FALSE))
        ELSE IF ~PrevMatches(known, m)
        THEN [node |-> known, out |-> Answer(FALSE, TRUE), writes |-> entering]
        ELSE IF stops # {} /\ Unreadable(known, m, FirstStop(known, m))
        THEN [node |-> known, out |-> Answer(FALSE, FALSE), writes |-> entering]
        ELSE [node   |-> after,
              out    |-> IF after.role = "Shutdown" THEN {} ELSE Answer(TRUE, FALSE),
              writes |-> entering \o cutting \o storing]

\* ACTION AppendEntries: n handles what a leader sends, entries or a heartbeat.
\* Source: appendEntries; processHeartbeat, which some transports call beside the main loop (HeartbeatRace).
AppendEntries(n) ==
    \E m \in Inbox(n) : \E outcome \in AnyOutcome :
    LET handled == AppendHandled(node[n], m) IN
    /\ IsRequest(m, "AppendEntries") \/ IsRequest(m, "Heartbeat")
    /\ IsNext(n, m)
    /\ Selects(n) \/ (HeartbeatsRace /\ m.type = "Heartbeat" /\ node[n].loop # "SELECT")
    /\ outcome \in Outcomes(n, handled)
    /\ Handle(n, m, Outcome(handled, outcome))

=============================================================================
