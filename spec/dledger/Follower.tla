------------------------------ MODULE Follower ------------------------------
(***************************************************************************)
(* EntryHandler, which works only while its node follows.                  *)
(***************************************************************************)
EXTENDS Commit

\* ACTION HandlePush: a request is put where it waits for the EntryHandler.  A COMPARE or TRUNCATE clears
\* the APPENDs that wait; of two APPENDs at one index the second is told REPEATED_PUSH.
\* Source: EntryHandler.handlePush.
HandlePush(n) ==
    \E m \in Inbox(n) :
    LET q        == received[n]
        repeated == m.type = "APPEND" /\ \E x \in q.writeRequestMap : x.index = m.index
        queued   == [writeRequestMap |-> IF m.type = "COMMIT" THEN q.writeRequestMap ELSE {},
                     compareOrTruncateRequests |-> Append(q.compareOrTruncateRequests, m)]
        after    == CASE m.type # "APPEND" -> queued
                      [] m.type = "APPEND" /\ repeated -> q
                      [] m.type = "APPEND" /\ ~repeated -> [q EXCEPT !.writeRequestMap = @ \cup {m}]
        taken    == Received(network, m)
    IN  /\ RequestQueues
        /\ m.kind = "request" /\ ~IsElection(m)
        /\ node[n].role # "DOWN"
        /\ received' = [received EXCEPT ![n] = after]
        /\ network' = IF repeated /\ m.awaited THEN Sent(taken, Response(n, m, node[n], "REPEATED_PUSH"))
                      ELSE taken
        /\ UNCHANGED <<node, history>>

\* ACTION ClearCompareOrTruncateRequests: who does not follow refuses what until 0.2.7 waits for it to follow.
\* Source: EntryHandler.clearCompareOrTruncateRequestsIfNeed, of 0.3.0 and later.
ClearCompareOrTruncateRequests(n) ==
    \E m \in Requests(n) :
    /\ NotFollower
    /\ node[n].role \notin {"FOLLOWER", "DOWN"}
    /\ m.kind = "request" /\ m.type \in {"COMPARE", "TRUNCATE", "COMMIT"}
    /\ Answer(n, m, node[n], node[n], "NOT_FOLLOWER")

Handles(n, m, type) == node[n].role = "FOLLOWER" /\ IsRequest(m, type)

FromItsLeader(s, m) == m.term = s.currTerm /\ m.src = s.leaderId

\* D2.  Published: COMPARE and COMMIT are obeyed whatever their term and leader.
Obeys(s, m) == ObeysAnyTerm \/ FromItsLeader(s, m)

\* DLedgerEntryPusher.updateCommittedIndex: the store first, then the state machine.
LearnCommitted(s, m) == Tell(UpdateCommittedIndex(s, m.term, m.commitIndex), m.commitIndex)

\* ACTION HandleDoCompare: does the follower hold this entry?
\* Source: EntryHandler.handleDoCompare.
HandleDoCompare(n) ==
    \E m \in Requests(n) :
    LET s     == node[n]
        equal == HasEntry(s.log, m.index) /\ Entry(s.log, m.index) = m.entry
    IN  /\ Handles(n, m, "COMPARE")
        /\ Answer(n, m, s, s, CASE ~Obeys(s, m) -> "INCONSISTENT_TERM"
                                [] Obeys(s, m) /\ equal -> "SUCCESS"
                                [] Obeys(s, m) /\ ~equal -> "INCONSISTENT_STATE")

\* D3.  Repaired: the log holds the entry, and its last one is of this leader's term: what is behind the
\* entry came from this leader, after the COMPARE that the TRUNCATE follows from.
IsLateTruncate(s, m) ==
    /\ ~ObeysLateTruncate
    /\ HasEntry(s.log, m.index) /\ Entry(s.log, m.index) = m.entry
    /\ EndTerm(s.log) = m.term

\* D6.  Published: committedIndex does not matter.  Repaired: what is committed is not cut.
MayTruncate(s, m) ==
    /\ FromItsLeader(s, m)
    /\ TruncatesCommitted \/ m.index >= CommittedEnd(s) \/ IsLateTruncate(s, m)

\* ACTION HandleDoTruncate: the follower's log ends at this entry from now on.
\* Source: EntryHandler.handleDoTruncate, DLedgerMmapFileStore.truncate; an index beyond the end passes.
HandleDoTruncate(n) ==
    \E m \in Requests(n) :
    LET s == node[n]
        t == IF IsLateTruncate(s, m) THEN s ELSE TruncateStore(s, m.index, m.entry)
    IN  /\ Handles(n, m, "TRUNCATE")
        /\ IF MayTruncate(s, m)
           THEN Answer(n, m, LearnCommitted(t, m), t, "SUCCESS")
           ELSE Answer(n, m, s, s, "INCONSISTENT_STATE")

\* What the APPEND m carries is next, and is stored if it is from the leader of n.
AppendsNext(n, m) ==
    LET s == node[n]
        t == StoreEntries(s, EntriesOf(m))
    IN  /\ Handles(n, m, "APPEND")
        /\ m.index = EndIndex(s.log) + 1
        /\ IF FromItsLeader(s, m)
           THEN Answer(n, m, LearnCommitted(t, m), t, "SUCCESS")
           ELSE Answer(n, m, s, s, "INCONSISTENT_STATE")

\* ACTION HandleDoAppend: the follower stores the next entry.  The entry before is not checked.
\* Source: EntryHandler.handleDoAppend, DLedgerMmapFileStore.appendAsFollower.
HandleDoAppend(n) ==
    \E m \in Requests(n) : ~Batches /\ AppendsNext(n, m)

\* ACTION HandleDoBatchAppend: the follower stores the next entries.
\* Source: EntryHandler.handleDoBatchAppend.
HandleDoBatchAppend(n) ==
    \E m \in Requests(n) : Batches /\ AppendsNext(n, m)

\* ACTION CheckAppendFuture: an entry is not the next one.  One that is stored already is compared
\* (fall behind); for one beyond a gap the leader is told to compare (fast forward), and the entry
\* stays in the queue, its answer given.  Of a batch the last entry tells; it may begin before the end.
\* Source: EntryHandler.checkAppendFuture.
CheckAppendFuture(n) ==
    \E m \in Requests(n) :
    LET s       == node[n]
        equal   == \A i \in m.index..LastIndex(m) :
                      HasEntry(s.log, i) /\ Entry(s.log, i) = EntriesOf(m)[i - m.index + 1]
        waiting == [m EXCEPT !.awaited = FALSE]
    IN  /\ Handles(n, m, "APPEND")
        /\ \A x \in received[n].writeRequestMap : x.index # EndIndex(s.log) + 1
        /\ \/ /\ LastIndex(m) <= EndIndex(s.log)
              /\ Answer(n, m, s, s, IF equal THEN "SUCCESS" ELSE "INCONSISTENT_STATE")
           \/ /\ LastIndex(m) > EndIndex(s.log)
              /\ m.index # EndIndex(s.log) + 1
              /\ m.awaited
              /\ LET told == Sent(network, Response(n, m, s, "INCONSISTENT_STATE"))
                 IN  IF ~RequestQueues
                     THEN /\ network' = Sent(Received(told, m), waiting)
                          /\ UNCHANGED received
                     ELSE /\ network' = told
                          /\ received' = [received EXCEPT ![n].writeRequestMap = (@ \ {m}) \cup {waiting}]
              /\ UNCHANGED <<node, history>>

\* ACTION HandleDoCommit: the follower learns the leader's committed index.
\* Source: EntryHandler.handleDoCommit.
HandleDoCommit(n) ==
    \E m \in Requests(n) :
    LET s == node[n] IN
    /\ Handles(n, m, "COMMIT")
    /\ Answer(n, m, IF Obeys(s, m) THEN LearnCommitted(s, m) ELSE s,
              s, "SUCCESS")

=============================================================================
