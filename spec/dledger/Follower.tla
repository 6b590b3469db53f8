------------------------------ MODULE Follower ------------------------------
(***************************************************************************)
(* The follower's EntryHandler.  The reader learns what a follower checks  *)
(* before it obeys, and what it does not.                                  *)
(*                                                                         *)
(* A request is received by HandlePush, which looks at neither its term    *)
(* nor its sender, and waits in a queue.  One thread takes requests from   *)
(* the queues while the node follows: COMPARE, TRUNCATE and COMMIT first,  *)
(* then the APPEND of the next index.  Without RequestQueues the network   *)
(* is the queue.                                                           *)
(***************************************************************************)
EXTENDS Store, Steps

-----------------------------------------------------------------------------
(* Receiving.                                                              *)

\* The queues with the request m.  A COMPARE or TRUNCATE clears the APPENDs that wait.
Queued(before, m) ==
    IF m.type = "APPEND" THEN [before EXCEPT !.writeRequestMap = @ \cup {m}]
    ELSE [writeRequestMap |-> IF m.type = "COMMIT" THEN before.writeRequestMap ELSE {},
          compareOrTruncateRequests |-> Append(before.compareOrTruncateRequests, m)]

\* An APPEND with this index waits already.
IsRepeated(queues, m) == m.type = "APPEND" /\ \E x \in queues.writeRequestMap : x.index = m.index

\* ACTION HandlePush: a request is put where it waits for the EntryHandler.  A COMPARE or TRUNCATE clears
\* the APPENDs that wait; of two APPENDs at one index the second is answered with REPEATED_PUSH.
\* Source: EntryHandler.handlePush.
HandlePush(n) ==
    \E m \in Inbox(n) :
    LET repeated == IsRepeated(received[n], m)
        out      == IF repeated THEN Reply(n, m, node[n], "REPEATED_PUSH") ELSE << >>
    IN  /\ RequestQueues
        /\ m.kind = "request" /\ ~IsElection(m)
        /\ node[n].role # "DOWN"
        /\ received' = [received EXCEPT ![n] = IF repeated THEN @ ELSE Queued(@, m)]
        /\ network' = SentAll(Received(network, m), out)
        /\ UNCHANGED <<node, elected, history>>

\* ACTION ClearCompareOrTruncateRequests: a node that does not follow refuses a COMPARE, TRUNCATE or COMMIT,
\* which until 0.2.7 waits for it to follow.
\* Source: EntryHandler.clearCompareOrTruncateRequestsIfNeed, of 0.3.0 and later.
ClearCompareOrTruncateRequests(n) ==
    \E m \in Requests(n) :
    /\ NotFollower
    /\ node[n].role \notin {"FOLLOWER", "DOWN"}
    /\ m.kind = "request" /\ m.type \in {"COMPARE", "TRUNCATE", "COMMIT"}
    /\ HandleRequest(n, m, [node |-> node[n], out |-> Reply(n, m, node[n], "NOT_FOLLOWER")])

-----------------------------------------------------------------------------
(* The tests of every request.                                             *)

Handles(n, m, type) == node[n].role = "FOLLOWER" /\ IsRequest(m, type)

FromItsLeader(state, m) == m.term = state.currTerm /\ m.src = state.leaderId

\* As published, a COMPARE or COMMIT is obeyed whatever its term and leader.
Obeys(state, m) == PushTermCheck \/ FromItsLeader(state, m)

HoldsEntryOf(state, m) == HasEntry(state.log, m.index) /\ Entry(state.log, m.index) = m.entry

\* The committed index that a request carries.
Learnt(before, m) == LearnCommitted(before, m.term, m.commitIndex)

-----------------------------------------------------------------------------
(* COMPARE and TRUNCATE.                                                   *)

CompareHandled(n, before, m) ==
    LET code == CASE ~Obeys(before, m) -> "INCONSISTENT_TERM"
                  [] Obeys(before, m) /\ HoldsEntryOf(before, m) -> "SUCCESS"
                  [] Obeys(before, m) /\ ~HoldsEntryOf(before, m) -> "INCONSISTENT_STATE"
    IN  [node |-> before, out |-> Reply(n, m, before, code)]

\* ACTION HandleDoCompare: does the follower hold this entry?
\* Source: EntryHandler.handleDoCompare.
HandleDoCompare(n) ==
    \E m \in Requests(n) :
    /\ Handles(n, m, "COMPARE")
    /\ HandleRequest(n, m, CompareHandled(n, node[n], m))

\* A TRUNCATE is late if the log holds its entry and ends with an entry of its term: what is behind the entry
\* came from this leader, after the COMPARE that the TRUNCATE follows from.  Repaired, nothing is cut then.
IsLateTruncate(state, m) ==
    /\ ~LateTruncate
    /\ HoldsEntryOf(state, m)
    /\ EndTerm(state.log) = m.term

\* As published, neither committedIndex nor the end of the log matter.  Repaired, nothing that is committed is
\* cut; and a TRUNCATE beyond the next index is late, too: its entry was there when it was compared, and one
\* that came later has cut the log.  It is refused.
MayTruncate(state, m) ==
    /\ FromItsLeader(state, m)
    /\ LateTruncate \/ m.index <= EndIndex(state.log) + 1
    /\ CommitPastEnd \/ m.index >= CommittedEnd(state) \/ IsLateTruncate(state, m)

TruncateHandled(n, before, m) ==
    LET cut == IF IsLateTruncate(before, m) THEN before ELSE TruncateStore(before, m.index, m.entry)
    IN  IF MayTruncate(before, m)
        THEN [node |-> Learnt(cut, m), out |-> Reply(n, m, cut, "SUCCESS")]
        ELSE [node |-> before, out |-> Reply(n, m, before, "INCONSISTENT_STATE")]

\* ACTION HandleDoTruncate: the follower's log ends at this entry from now on.
\* Source: EntryHandler.handleDoTruncate, DLedgerMmapFileStore.truncate; an index beyond the end passes.
HandleDoTruncate(n) ==
    \E m \in Requests(n) :
    /\ Handles(n, m, "TRUNCATE")
    /\ HandleRequest(n, m, TruncateHandled(n, node[n], m))

-----------------------------------------------------------------------------
(* APPEND.                                                                 *)

AppendHandled(n, before, m) ==
    LET stored == StoreEntries(before, EntriesOf(m))
    IN  IF FromItsLeader(before, m)
        THEN [node |-> Learnt(stored, m), out |-> Reply(n, m, stored, "SUCCESS")]
        ELSE [node |-> before, out |-> Reply(n, m, before, "INCONSISTENT_STATE")]

\* The first entry of m comes next.  What the log ends with is not compared with anything.
AppendsNext(n, m) ==
    /\ Handles(n, m, "APPEND")
    /\ m.index = EndIndex(node[n].log) + 1
    /\ HandleRequest(n, m, AppendHandled(n, node[n], m))

\* ACTION HandleDoAppend: the follower stores the next entry.  The entry before is not checked.
\* Source: EntryHandler.handleDoAppend, DLedgerMmapFileStore.appendAsFollower.
HandleDoAppend(n) ==
    \E m \in Requests(n) :
    /\ ~Batches
    /\ AppendsNext(n, m)

\* ACTION HandleDoBatchAppend: the follower stores the next entries.
\* Source: EntryHandler.handleDoBatchAppend.
HandleDoBatchAppend(n) ==
    \E m \in Requests(n) :
    /\ Batches
    /\ AppendsNext(n, m)

\* ACTION FailStore: the node ceased to follow after its EntryHandler looked; the store refuses to append, or
\* to truncate.
\* Source: EntryHandler.doWork, which looks; DLedgerMmapFileStore.appendAsFollower and truncate, which look
\* once more.
FailStore(n) ==
    \E m \in Requests(n) :
    /\ LateRole
    /\ node[n].role \notin {"FOLLOWER", "DOWN"}
    /\ \/ IsRequest(m, "APPEND") /\ m.index = EndIndex(node[n].log) + 1
       \/ IsRequest(m, "TRUNCATE")
    /\ HandleRequest(n, m, [node |-> node[n], out |-> Reply(n, m, node[n], "INCONSISTENT_STATE")])

\* The log holds every entry of the APPEND m.
HoldsEntriesOf(state, m) ==
    \A i \in m.index..LastPushedIndex(m) :
       HasEntry(state.log, i) /\ Entry(state.log, i) = EntriesOf(m)[i - m.index + 1]

\* The APPEND m is answered, and waits on; nobody waits for another answer to it.
AnswersAndKeeps(n, m) ==
    LET waiting == [m EXCEPT !.awaited = FALSE]
        answer  == Response(n, m, node[n], "INCONSISTENT_STATE")
    IN  /\ network' = IF RequestQueues THEN Sent(network, answer)
                      ELSE SentAll(Received(network, m), <<answer, waiting>>)
        /\ received' = IF ~RequestQueues THEN received
                       ELSE [received EXCEPT ![n].writeRequestMap = (@ \ {m}) \cup {waiting}]
        /\ UNCHANGED <<node, elected, history>>

\* As published, a stored APPEND is confirmed whatever its term and leader, and its leader counts what
\* another one stored.
Confirms(n, m) == (AppendTermCheck \/ FromItsLeader(node[n], m)) /\ HoldsEntriesOf(node[n], m)

\* ACTION CheckAppendFuture: an APPEND is not the next one.  One that is stored already is compared (fall
\* behind); one beyond a gap is answered with INCONSISTENT_STATE, and the leader compares (fast forward).  As
\* published that APPEND stays in the queue, its answer given: should the answer be lost, the same APPEND,
\* sent again, is answered with REPEATED_PUSH for ever.  Repaired, it is gone.  Of a batch the last entry
\* decides; it may begin before the end.
\* Source: EntryHandler.checkAppendFuture.
CheckAppendFuture(n) ==
    \E m \in Requests(n) :
    LET end  == EndIndex(node[n].log)
        code == IF Confirms(n, m) THEN "SUCCESS" ELSE "INCONSISTENT_STATE"
    IN  /\ Handles(n, m, "APPEND")
        /\ \A x \in received[n].writeRequestMap : x.index # end + 1
        /\ \/ /\ LastPushedIndex(m) <= end
              /\ HandleRequest(n, m, [node |-> node[n], out |-> Reply(n, m, node[n], code)])
           \/ /\ LastPushedIndex(m) > end
              /\ m.index # end + 1
              /\ IF RepeatedPush THEN m.awaited /\ AnswersAndKeeps(n, m)
                 ELSE HandleRequest(n, m, [node |-> node[n],
                                           out |-> Reply(n, m, node[n], "INCONSISTENT_STATE")])

-----------------------------------------------------------------------------
(* COMMIT.                                                                 *)

CommitHandled(n, before, m) ==
    [node |-> IF Obeys(before, m) THEN Learnt(before, m) ELSE before,
     out |-> Reply(n, m, before, "SUCCESS")]

\* ACTION HandleDoCommit: the follower learns the leader's committed index.
\* Source: EntryHandler.handleDoCommit.
HandleDoCommit(n) ==
    \E m \in Requests(n) :
    /\ Handles(n, m, "COMMIT")
    /\ HandleRequest(n, m, CommitHandled(n, node[n], m))

\* The request m is handled as if it said nothing of what is committed.
CommitSkipped(n, before, m) ==
    LET silent == [m EXCEPT !.commitIndex = -1]
    IN  CASE m.type = "TRUNCATE" -> TruncateHandled(n, before, silent)
          [] m.type = "APPEND" -> AppendHandled(n, before, silent)
          [] m.type = "COMMIT" -> CommitHandled(n, before, silent)

\* ACTION SkipCommit: the term of the node rose after its EntryHandler had stored what the request carries, or
\* had taken a COMMIT; the store passes over the committed index of a lower term.  When the term rose is not
\* kept, so it may be at any time: wider than the code.
\* Source: EntryHandler.handleDoAppend, handleDoBatchAppend, handleDoTruncate and handleDoCommit;
\* DLedgerMmapFileStore.updateCommittedIndex, which looks at the term.
SkipCommit(n) ==
    \E m \in Requests(n) :
    /\ LateRole
    /\ \/ Handles(n, m, "APPEND") /\ m.index = EndIndex(node[n].log) + 1
       \/ Handles(n, m, "TRUNCATE")
       \/ Handles(n, m, "COMMIT")
    /\ HandleRequest(n, m, CommitSkipped(n, node[n], m))

=============================================================================
