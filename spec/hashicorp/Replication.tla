---------------------------- MODULE Replication -----------------------------
(***************************************************************************)
(* The routines that a leader runs for each peer.  The reader learns how   *)
(* the log of a follower is brought in line.                               *)
(* replicateTo sends the entries from nextIndex on, or none if there are   *)
(* none, and the index and term of the entry before.  If the follower      *)
(* refuses, nextIndex goes down, by one or to the end of the follower's    *)
(* log, and it is asked again.  If an entry that should be sent is gone,   *)
(* the latest snapshot is sent instead.                                    *)
(*                                                                         *)
(* A routine waits for one answer at a time, unless it has opened a        *)
(* pipeline (see Pipeline).                                                *)
(***************************************************************************)
EXTENDS Messages, Leader

\* setPreviousLog: the place before the next index; NoPrevious if that entry is gone.
NoPrevious == [index |-> 0, term |-> 1]
Previous(state, next) ==
    IF next = 1 THEN NoPlace
    ELSE IF next - 1 = state.lastSnapshot.index THEN state.lastSnapshot
    ELSE IF HasEntry(state, next - 1) THEN [index |-> next - 1, term |-> state.log[next - 1].term]
    ELSE NoPrevious

\* The number of entries in a request.  The routine learned the end of the log when it was woken, and the log
\* may be longer by now; so it may be any number up to all that there are.
Most(state, next)  == Max({0, Min({MaxAppendEntries, state.lastLog.index - next + 1})})
Counts(state, next) == 0..Most(state, next)

CanAppend(state, next, count) ==
    Previous(state, next) # NoPrevious /\ HasRange(state, next, next + count - 1)

Entries(state, next, count) == IF count = 0 THEN << >> ELSE Range(state, next, next + count - 1)

-----------------------------------------------------------------------------
(* Sending.                                                                *)

ReplicationRequest(n, peer, state, term, next, count) ==
    AppendEntriesRequest(n, peer, state, term, Previous(state, next), Entries(state, next, count))

Replicated(n, before, peer, count) ==
    LET runner == before.replication[peer]
        m      == ReplicationRequest(n, peer, before, runner.term, runner.nextIndex, count)
        awaits == [runner EXCEPT !.awaiting = "AppendEntries", !.sentIndex = SentIndex(m)]
    IN  Says([before EXCEPT !.replication[peer] = awaits], {m})

\* The routine for peer runs, waits for nothing, and has no pipeline.
MayReplicate(n, peer) ==
    /\ Runs(n) /\ MaySend(n, peer)
    /\ RunnerFor(n, peer).running /\ RunnerFor(n, peer).awaiting = "NOTHING"
    /\ RunnerFor(n, peer).pipeline # "OPEN"

\* ACTION ReplicateTo: a routine sends its peer `count` entries from nextIndex on.
\* Source: replicateTo, setupAppendEntries.
ReplicateTo(n) ==
    \E peer \in Peers(n) :
    \E count \in Counts(node[n], RunnerFor(n, peer).nextIndex) :
    /\ MayReplicate(n, peer)
    /\ CanAppend(node[n], RunnerFor(n, peer).nextIndex, count)
    /\ Act(n, Replicated(n, node[n], peer, count))

\* An entry that should be sent is gone, and there is a snapshot.
MustSendSnapshot(state, next) == ~CanAppend(state, next, Most(state, next)) /\ state.snapshots # << >>

SnapshotSent(n, before, peer) ==
    LET snapshot == Newest(before.snapshots)
        runner   == before.replication[peer]
    IN  Says([before EXCEPT !.replication[peer] =
                 [@ EXCEPT !.awaiting = "InstallSnapshot", !.sentIndex = snapshot.index]],
             {InstallSnapshotRequest(n, peer, runner.term, snapshot)})

\* ACTION SendLatestSnapshot: a routine sends its peer the latest snapshot.
\* Source: replicateTo, sendLatestSnapshot.
SendLatestSnapshot(n) ==
    \E peer \in Peers(n) :
    /\ MayReplicate(n, peer)
    /\ MustSendSnapshot(node[n], RunnerFor(n, peer).nextIndex)
    /\ Act(n, SnapshotSent(n, node[n], peer))

\* ACTION Heartbeat: the other routine sends its peer a heartbeat.
\* Source: heartbeat.
Heartbeat(n) ==
    \E peer \in Peers(n) :
    /\ Heartbeats
    /\ Runs(n) /\ MaySend(n, peer)
    /\ RunnerFor(n, peer).running /\ ~RunnerFor(n, peer).beating
    /\ Act(n, Says([node[n] EXCEPT !.replication[peer].beating = TRUE],
                   {HeartbeatRequest(n, peer, RunnerFor(n, peer).term)}))

-----------------------------------------------------------------------------
(* Answers.                                                                *)

\* notifyAll: the answer of a peer counts for VerifyLeader (see Leadership).  As published, it counts whenever
\* the call was made; repaired, only if the call was made after the question.
Notified(before, peer, success, old) ==
    IF peer \notin before.verify.waiting \/ (old /\ ~CountsOldAcks) THEN before
    ELSE LET heard == [before EXCEPT !.verify.waiting = @ \ {peer}]
         IN  IF IsDecided(before.verify) THEN heard
             ELSE [heard EXCEPT !.verify.acks = IF success THEN @ \cup {peer} ELSE @,
                                !.verify.refused = ~success]

\* handleStaleTerm: the routine ends, and the main loop is to step down.
Stale(before, peer) ==
    [Notified(before, peer, FALSE, FALSE) EXCEPT !.replication[peer].running = FALSE,
                                                 !.leaderState.stepDown = TRUE]

\* nextIndex after a refusal.  Example: nextIndex is 9, and the follower's log ends at 4: it is asked from 5
\* on.  If it refuses again, from 4.
BackedOff(next, lastLog) == Max({Min({next - 1, lastLog + 1}), 1})

\* The routine waits for nothing.
Idle(before, peer) ==
    [before EXCEPT !.replication[peer].awaiting = "NOTHING", !.replication[peer].sentIndex = 0,
                   !.replication[peer].oldCall = FALSE]

\* updateLastAppended: peer stores the log up to sentIndex, if the request had entries.
Appended(before, peer, sentIndex, old) ==
    LET heard == Notified(before, peer, TRUE, old)
    IN  IF sentIndex = 0 THEN heard
        ELSE Matched([heard EXCEPT !.replication[peer].nextIndex = sentIndex + 1], peer, sentIndex)

Allowed(before, peer) ==
    IF ~Pipeline THEN before ELSE [before EXCEPT !.replication[peer].pipeline = "ALLOWED"]

AppendAnswered(before, m) ==
    LET runner == before.replication[m.src]
        idle   == Idle(before, m.src)
    IN  IF m.term > runner.term THEN Stale(idle, m.src)
        ELSE IF ~m.success
        THEN [idle EXCEPT !.replication[m.src].nextIndex = BackedOff(@, m.lastLog)]
        ELSE Appended(Allowed(idle, m.src), m.src, runner.sentIndex, runner.oldCall)

\* The pipeline to a peer is closed.
Closed(before, peer) ==
    [before EXCEPT !.replication[peer].pipeline = "NONE", !.replication[peer].inFlight = << >>]

\* The decoder ends, and the pipeline is closed.  The routine that sends may not know it yet, and send more.
Refused(before, peer) ==
    [Closed(before, peer) EXCEPT !.zombies = IF Zombies THEN @ \cup LeftOf(before, peer) ELSE {}]

\* In a pipeline the answer is to the oldest call.  A refusal does not lower nextIndex.  After one of a higher
\* term the main loop is to step down, and the routine goes on with single calls all the same.
Decoded(before, m) ==
    LET call     == Head(before.replication[m.src].inFlight)
        answered == [before EXCEPT !.replication[m.src].inFlight = Tail(@)]
    IN  IF m.term > before.replication[m.src].term
        THEN [Notified(Refused(before, m.src), m.src, FALSE, FALSE) EXCEPT !.leaderState.stepDown = TRUE]
        ELSE IF ~m.success THEN Refused(before, m.src)
        ELSE Appended(answered, m.src, call.sentIndex, call.old)

IsAnswerToOldest(runner, m) == runner.inFlight # << >> /\ Head(runner.inFlight).sentIndex = m.sentIndex

\* ACTION HandleAppendEntriesResponse: a routine learns what its peer stores, or where to try next; or the
\* decoder of a pipeline does, or closes it.
\* Source: replicateTo, pipelineDecode, updateLastAppended, commitment.match.
HandleAppendEntriesResponse(n) ==
    \E m \in Inbox(n) :
    LET runner == RunnerFor(n, m.src) IN
    /\ IsResponse(m, "AppendEntries")
    /\ Runs(n)
    /\ IF runner.pipeline # "OPEN" THEN TakeAnswer(n, m, Quietly(AppendAnswered(node[n], m)))
       ELSE /\ IsAnswerToOldest(runner, m)
            /\ TakeOneOfSeveral(n, m, Decoded(node[n], m))

SnapshotAnswered(before, m) ==
    LET runner == before.replication[m.src]
        idle   == Idle(before, m.src)
    IN  IF m.term > runner.term THEN Stale(idle, m.src)
        ELSE IF ~m.success THEN idle
        ELSE Matched([Notified(idle, m.src, TRUE, runner.oldCall) EXCEPT
                         !.replication[m.src].nextIndex = runner.sentIndex + 1], m.src, runner.sentIndex)

\* ACTION HandleInstallSnapshotResponse: a routine learns that its peer has the snapshot.
\* Source: sendLatestSnapshot.
HandleInstallSnapshotResponse(n) ==
    \E m \in Inbox(n) :
    /\ IsResponse(m, "InstallSnapshot")
    /\ Runs(n)
    /\ TakeAnswer(n, m, Quietly(SnapshotAnswered(node[n], m)))

NotBeating(before, peer) ==
    [before EXCEPT !.replication[peer].beating = FALSE, !.replication[peer].old = FALSE]

HeartbeatAnswered(before, m) ==
    Notified(NotBeating(before, m.src), m.src, m.success, before.replication[m.src].old)

\* ACTION HandleHeartbeatResponse: a routine learns whether its peer is still in this term.
\* Source: heartbeat, notifyAll.  A higher term alone does not end the leadership.
HandleHeartbeatResponse(n) ==
    \E m \in Inbox(n) :
    /\ IsResponse(m, "Heartbeat")
    /\ Runs(n)
    /\ TakeAnswer(n, m, Quietly(HeartbeatAnswered(node[n], m)))

\* ACTION RPCError: a call gets no answer in time, or an error, and its caller gives up; a pipeline is closed.
\* Source: replicateTo, sendLatestSnapshot, heartbeat, electSelf, preElectSelf; pipelineReplicate.
RPCError(n) ==
    \E peer \in Peers(n) : \E type \in OfElections \cup {"AppendEntries", "InstallSnapshot", "Heartbeat"} :
    LET runner == RunnerFor(n, peer)
        opened == type = "AppendEntries" /\ runner.pipeline = "OPEN"
        after  == CASE type \in OfElections -> node[n]
                    [] type = "Heartbeat"     -> NotBeating(node[n], peer)
                    [] opened                 -> Closed(node[n], peer)
                    [] ~opened /\ type \in {"AppendEntries", "InstallSnapshot"} -> Idle(node[n], peer)
    IN  /\ TimeOuts /\ MayTimeOut(n, peer)
        /\ CASE type = "RequestVote"    -> node[n].campaign.phase = "VOTE" /\ node[n].loop = "SELECT"
             [] type = "RequestPreVote" -> node[n].campaign.phase = "PREVOTE"
             [] type = "Heartbeat"      -> runner.beating
             [] type \in {"AppendEntries", "InstallSnapshot"} -> opened \/ runner.awaiting = type
        /\ GiveUp(n, peer, type, after)

=============================================================================
