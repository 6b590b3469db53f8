------------------------------ MODULE Pushing -------------------------------
(***************************************************************************)
(* Dispatchers in APPEND.  The reader learns how entries are pushed and    *)
(* pushed again, and what their answers change.                            *)
(*                                                                         *)
(* With PendingMap a dispatcher remembers each push until it is answered.  *)
(* With Batches a push is a batch: one APPEND with several entries.  The   *)
(* code has a method of its own for each step of a batch.  Here a push     *)
(* without Batches is a batch of one entry, and the two actions of a pair  *)
(* differ in the number of entries alone.                                  *)
(***************************************************************************)
EXTENDS Leader

\* EntryDispatcher.maxPendingSize: the number of pushes that may be without an answer.
MaxPendingSize      == 1000
IsFull(dispatcher)  == PendingMap /\ Cardinality(dispatcher.pendings) >= MaxPendingSize

\* The dispatcher of n for peer is in its loop in APPEND.
Appending(n, peer) ==
    LET dispatcher == node[n].dispatchers[peer] IN
    /\ node[n].role = "LEADER"
    /\ dispatcher.term = node[n].currTerm
    /\ dispatcher.type = "APPEND"
    /\ dispatcher.awaiting = "NOTHING"

-----------------------------------------------------------------------------
(* Push.                                                                   *)

\* The dispatcher remembers a push, in place of one that began at the same index.
Remembers(dispatcher, index, count) ==
    IF ~PendingMap THEN dispatcher
    ELSE [dispatcher EXCEPT !.pendings = {p \in @ : p.index # index}
                                         \cup {[index |-> index, count |-> count]}]

PushedNext(n, before, peer, count) ==
    LET index == before.dispatchers[peer].writeIndex
        after == [before EXCEPT !.dispatchers[peer] =
                     [Remembers(@, index, count) EXCEPT !.writeIndex = index + count]]
    IN  [node |-> after, out |-> <<AppendRequest(n, peer, after, index, count)>>]

Push(n, peer, count) ==
    LET dispatcher == node[n].dispatchers[peer]
        index      == dispatcher.writeIndex
    IN  /\ Appending(n, peer)
        /\ MaySend(n, peer)
        /\ ~IsFull(dispatcher)
        /\ \A i \in index..index + count - 1 : HasEntry(node[n].log, i)
        /\ Act(n, PushedNext(n, node[n], peer, count))

\* ACTION DoAppend: the leader pushes the entry at writeIndex.
\* Source: EntryDispatcher.doAppend, doAppendInner.
DoAppend(n) ==
    \E peer \in Peers(n) :
    /\ ~Batches
    /\ Push(n, peer, 1)

\* ACTION DoBatchAppend: the leader pushes the entries from writeIndex on in one APPEND: all there are, or
\* those of a batch of full size.
\* Source: EntryDispatcher.doBatchAppend, doBatchAppendInner, sendBatchAppendEntryRequest.
DoBatchAppend(n) ==
    \E peer \in Peers(n) :
    \E count \in 1..EndIndex(node[n].log) - node[n].dispatchers[peer].writeIndex + 1 :
    /\ Batches
    /\ Push(n, peer, count)

-----------------------------------------------------------------------------
(* Push again: the first push that has no answer, when all is pushed, or   *)
(* no more may be.  It begins behind the watermark of the peer.            *)
(*                                                                         *)
(* The code looks at the end of the log and at its map first, then at the  *)
(* watermark, and pushes last.  In between clients append, and answers     *)
(* come.  So with LateResend it may push again whatever is left, and what  *)
(* was answered since.                                                     *)

PushAgain(n, peer) ==
    LET dispatcher == node[n].dispatchers[peer]
        index      == node[n].peerWaterMarks[peer] + 1
        pending    == {p \in dispatcher.pendings : p.index = index}
        count      == IF PendingMap THEN (CHOOSE p \in pending : TRUE).count ELSE 1
    IN  /\ Appending(n, peer)
        /\ MaySend(n, peer)
        /\ LateResend \/ dispatcher.writeIndex > EndIndex(node[n].log) \/ IsFull(dispatcher)
        /\ PendingMap => pending # {}
        /\ \A i \in index..index + count - 1 : HasEntry(node[n].log, i)
        /\ Act(n, [node |-> node[n], out |-> <<AppendRequest(n, peer, node[n], index, count)>>])

\* ACTION DoCheckAppendResponse: the leader pushes the first unanswered entry once more.
\* Source: EntryDispatcher.doCheckAppendResponse.
DoCheckAppendResponse(n) ==
    \E peer \in Peers(n) :
    /\ ~Batches
    /\ PushAgain(n, peer)

\* ACTION DoCheckBatchAppendResponse: the leader pushes the first unanswered batch once more.
\* Source: EntryDispatcher.doCheckBatchAppendResponse.
DoCheckBatchAppendResponse(n) ==
    \E peer \in Peers(n) :
    /\ Batches
    /\ PushAgain(n, peer)

\* ACTION PushAnsweredAgain: the leader pushes once more what had no answer when it looked, and has one now.
\* It reads committedIndex last: the entries may be those that this answer has committed.  Which entries
\* had no answer then is not kept, so they may be any that the peer has: wider than the code.
\* Source: EntryDispatcher.doCheckAppendResponse and doCheckBatchAppendResponse, between their lines.
PushAnsweredAgain(n) ==
    \E peer \in Peers(n) :
    \E index \in 0..node[n].peerWaterMarks[peer] :
    \E count \in 1..(IF Batches THEN node[n].peerWaterMarks[peer] - index + 1 ELSE 1) :
    /\ LateResend
    /\ Appending(n, peer)
    /\ MaySend(n, peer)
    /\ \A i \in index..index + count - 1 : HasEntry(node[n].log, i)
    /\ Act(n, [node |-> node[n], out |-> <<AppendRequest(n, peer, node[n], index, count)>>])

\* ACTION CheckLeak: the dispatcher forgets what it pushed below the peer's watermark; of batches, what it
\* pushed up to there.
\* Source: EntryDispatcher.doAppend and doBatchAppend, once a second or when the map is full.
CheckLeak(n) ==
    \E peer \in Peers(n) :
    LET mark     == node[n].peerWaterMarks[peer]
        Stays(p) == IF Batches THEN p.index + p.count - 1 > mark ELSE p.index >= mark
    IN  /\ PendingMap
        /\ Appending(n, peer)
        /\ node[n].dispatchers[peer].writeIndex <= EndIndex(node[n].log)
        /\ Step(n, [node[n] EXCEPT !.dispatchers[peer].pendings = {p \in @ : Stays(p)}])

-----------------------------------------------------------------------------
(* Answers.                                                                *)

Answered(before, m) ==
    LET last   == IF IsBatch(m) THEN m.index + m.count - 1 ELSE m.index
        ticked == [before EXCEPT !.dispatchers[m.src].pendings = {p \in @ : p.index # m.index}]
    IN  CASE m.code = "SUCCESS" -> UpdatePeerWaterMark(ticked, m.src, m.term, last)
          [] m.code = "INCONSISTENT_STATE" -> [before EXCEPT !.dispatchers[m.src] = ToCompare(@)]
          [] m.code = "REPEATED_PUSH" -> before

\* ACTION HandleAppendResponse: a stored entry raises the peer's watermark; an inconsistent one
\* sends the dispatcher back to COMPARE, whatever it is doing; REPEATED_PUSH does nothing.
\* Source: EntryDispatcher.doAppendInner and sendBatchAppendEntryRequest, the callbacks.
HandleAppendResponse(n) ==
    \E m \in Inbox(n) :
    /\ node[n].role # "DOWN"
    /\ IsResponse(m, "APPEND")
    /\ Receive(n, m, Quietly(Answered(node[n], m)))

-----------------------------------------------------------------------------
(* COMMIT.                                                                 *)

\* ACTION DoCommit: nothing to push, so the leader sends its committed index.
\* Source: EntryDispatcher.doCommit; the answer is ignored.
DoCommit(n) ==
    \E peer \in Peers(n) :
    /\ Appending(n, peer)
    /\ MaySend(n, peer)
    /\ node[n].dispatchers[peer].writeIndex > EndIndex(node[n].log)
    /\ Act(n, [node |-> node[n], out |-> <<CommitRequest(n, peer, node[n])>>])

=============================================================================
