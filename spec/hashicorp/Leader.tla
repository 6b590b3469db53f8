------------------------------- MODULE Leader -------------------------------
(***************************************************************************)
(* The main loop of a leader.  The reader learns how a leadership begins   *)
(* and ends, when an entry is committed, and what the leader does then.    *)
(* A leader keeps for each voter its matchIndex, the last index up to      *)
(* which that voter's log is known to be the leader's.  An index that a    *)
(* quorum has reached is committed if it is at least startIndex, the first *)
(* index of this leadership: entries of earlier terms commit behind one of *)
(* its own.  So a leader begins with the no-op, an entry without a         *)
(* command.                                                                *)
(* The main loop and the routines compute the committed index when a       *)
(* matchIndex rises; the main loop alone acts on it, later (ProcessLogs).  *)
(***************************************************************************)
EXTENDS Logs

-----------------------------------------------------------------------------
(* commitment.                                                             *)

RECURSIVE Ascending(_, _)
Ascending(marks, members) ==
    IF members = {} THEN << >>
    ELSE LET lowest  == Min({marks[p] : p \in members})
             holders == {p \in members : marks[p] = lowest}
         IN  [k \in 1..Cardinality(holders) |-> lowest] \o Ascending(marks, members \ holders)

\* recalculate: matchIndexes in ascending order, element (size - 1) / 2 counted from 0.  As in 0.1 element
\* size / 2: of the matchIndexes 0, 0, 5, 5 of four voters that is 5, which two of them have.
QuorumMatchIndex(matchIndexes, voters) ==
    LET sorted == Ascending(matchIndexes, voters)
        size   == Len(sorted)
    IN  sorted[(IF HalfCommits THEN size \div 2 ELSE (size - 1) \div 2) + 1]

Recalculated(before) ==
    LET voters == before.configurations.latest.voters
        index  == QuorumMatchIndex(before.leaderState.matchIndexes, voters)
    IN  IF voters # {} /\ index > before.leaderState.commitIndex /\ index >= before.leaderState.startIndex
        THEN [before EXCEPT !.leaderState.commitIndex = index]
        ELSE before

\* match: the log of p is known to be the leader's up to index.  Only voters count.
Matched(before, p, index) ==
    IF ~IsVoter(before, p) \/ index <= before.leaderState.matchIndexes[p] THEN before
    ELSE Recalculated([before EXCEPT !.leaderState.matchIndexes[p] = index])

\* The leader's own mark.  The sketch sets it, and computes nothing.
MatchedOwn(before, n, index) ==
    IF OnlyAnswersCommit THEN [before EXCEPT !.leaderState.matchIndexes[n] = index]
    ELSE Matched(before, n, index)

-----------------------------------------------------------------------------
(* Appending.                                                              *)

\* dispatchLogs: the leader stores entries, and marks them as its own.  If it cannot, it follows.
Dispatched(n, before, entries) ==
    LET first  == LastIndex(before) + 1
        last   == LastIndex(before) + Len(entries)
        stored == Staged([before EXCEPT !.log = Stored(@, first, entries)], before.commitIndex)
    IN  [node   |-> [MatchedOwn(stored, n, last) EXCEPT
                        !.lastLog = [index |-> last, term |-> before.currentTerm]],
         out    |-> {},
         writes |-> <<Write(stored, Quietly(Follower(before)))>>]

EntryOf(state, type, value) ==
    [term |-> state.currentTerm, type |-> type, value |-> value, configuration |-> NoConfiguration]

-----------------------------------------------------------------------------
(* A leadership begins.                                                    *)

Starts(state, term) == [InitRunner EXCEPT !.running = TRUE, !.term = term, !.nextIndex = LastIndex(state) + 1]

\* setupLeaderState, startStopReplication.
SetUp(n, before) ==
    LET peers == Members(before.configurations.latest) \ {n}
    IN  [before EXCEPT !.loop = "SELECT",
                       !.leaderState = [NoLeaderState EXCEPT !.startIndex = LastIndex(before) + 1],
                       !.replication = [p \in Node |-> IF p \in peers THEN Starts(before, before.currentTerm)
                                                       ELSE InitRunner]]

\* If a heartbeat of a newer term came in between, the server leads no more.  It begins all the same, in that
\* term, and ends at once; its routines still send what they were about to send.
LeaderAgain(before) == IF before.role = "Leader" THEN before ELSE Stopped(before)

DispatchesNoop(n, before) == Dispatched(n, SetUp(n, before), <<EntryOf(before, "Noop", NoNode)>>)

Leads(n, before) ==
    LET handled == DispatchesNoop(n, before)
    IN  [handled EXCEPT !.node = LeaderAgain(@), !.writes[1].fails.node = LeaderAgain(@)]

\* ACTION DispatchNoop: a new leader sets up its state, starts its routines, and appends a no-op.
\* Source: runLeader, setupLeaderState, startStopReplication, dispatchLogs.
DispatchNoop(n) ==
    \E outcome \in Outcomes(n, Leads(n, node[n])) :
    /\ Runs(n) /\ node[n].loop = "LEAD"
    /\ Act(n, Outcome(Leads(n, node[n]), outcome))

-----------------------------------------------------------------------------
(* Clients.                                                                *)

\* The commands and barriers that clients may append at once.  A model has fewer.
ClientLog  == [type: {"Command"}, value: Value] \cup [type: {"Barrier"}, value: {NoNode}]
ClientLogs == Seq(ClientLog)

ClientEntries(state, logs) == [k \in 1..Len(logs) |-> EntryOf(state, logs[k].type, logs[k].value)]

\* A leader that a heartbeat beside its main loop has brought to a later term appends in that term, and then
\* notices (HeartbeatRace).
ClientsDispatched(n, before, logs) ==
    LET handled == Dispatched(n, before, ClientEntries(before, logs))
        Ends(s) == IF before.loop = "OVERTAKEN" THEN Noticed(s) ELSE s
    IN  [handled EXCEPT !.node = Ends(@), !.writes[1].fails.node = Ends(@)]

\* ACTION DispatchLogs: a leader appends what clients ask for.
\* Source: leaderLoop, applyCh; dispatchLogs.  During a transfer it refuses.
DispatchLogs(n) ==
    \E logs \in ClientLogs : \E outcome \in AnyOutcome :
    LET handled == ClientsDispatched(n, node[n], logs)
    IN  /\ Runs(n) /\ node[n].loop \in {"SELECT", "OVERTAKEN"} /\ MayDispatch(n)
        /\ IsInLeaderLoop(node[n])
        /\ logs # << >>
        /\ ~node[n].transfer.inProgress
        /\ outcome \in Outcomes(n, handled)
        /\ Act(n, Outcome(handled, outcome))

-----------------------------------------------------------------------------
(* Committing.                                                             *)

\* The entries that this leader commits, and that no leader had committed before.
NewlyCommitted(n, index) ==
    LET log      == node[n].log
        new      == DOMAIN log \cap (node[n].commitIndex + 1 .. index)
        Known(i) == \E c \in committed : c.index = i /\ c.entry = log[i]
    IN  {[term |-> node[n].currentTerm, index |-> i, entry |-> log[i]] : i \in {k \in new : ~Known(k)}}

\* The committed configuration is the latest from now on.  A leader that is not in it leads no more.
CommitsConfiguration(before, index) ==
    /\ before.configurations.latestIndex > before.commitIndex
    /\ before.configurations.latestIndex <= index

LeaderCommitted(n, before) ==
    LET index   == before.leaderState.commitIndex
        changes == CommitsConfiguration(before, index)
        known   == IF changes THEN LatestIsCommitted(before) ELSE before
        after   == ProcessedLogs([known EXCEPT !.commitIndex = index], index)
        removed == changes /\ n \notin known.configurations.committed.voters
    IN  IF ~removed \/ after.role = "Shutdown" THEN after
        ELSE IF ShutdownOnRemove THEN Down(after) ELSE Follower(after)

\* ACTION ProcessLogs: the main loop takes over the committed index, and hands the entries to the FSM.
\* Source: leaderLoop, commitCh; processLogs.
ProcessLogs(n) ==
    /\ Selects(n)
    /\ node[n].role = "Leader"
    /\ node[n].leaderState.commitIndex > node[n].commitIndex
    /\ Update(n, network, Quietly(LeaderCommitted(n, node[n])))
    /\ committed' = committed \cup NewlyCommitted(n, node[n].leaderState.commitIndex)
    /\ UNCHANGED verified

-----------------------------------------------------------------------------
(* A leadership ends.                                                      *)

\* ACTION StepDown: the main loop learns that a peer is in a higher term.
\* Source: leaderLoop, stepDown; handleStaleTerm.  The leader does not go to that term.
StepDown(n) ==
    /\ Selects(n)
    /\ node[n].role = "Leader"
    /\ node[n].leaderState.stepDown
    /\ Step(n, Follower(node[n]))

\* ACTION CheckLeaderLease: a leader did not hear from a quorum of the voters in time, and follows.
\* Source: checkLeaderLease.  A leader that is a quorum by itself need not hear from others.
CheckLeaderLease(n) ==
    /\ LeaseTimeOuts /\ MayLoseLease(n)
    /\ Selects(n)
    /\ node[n].role = "Leader"
    /\ ~IsQuorum(OwnVote(n, node[n]), node[n].configurations.latest.voters)
    /\ Step(n, Follower(node[n]))

=============================================================================
