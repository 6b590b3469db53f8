------------------------------- MODULE Leader -------------------------------
(***************************************************************************)
(* EntryDispatcher: one for each peer; compare, truncate, append, commit.  *)
(***************************************************************************)
EXTENDS Clients

\* changeState(COMPARE): compareIndex starts anew only when APPEND is left.
ToCompare(d) ==
    [d EXCEPT !.type = "COMPARE",
              !.compareIndex = IF d.type = "APPEND" THEN -1 ELSE @,
              !.pendings = IF d.type = "APPEND" THEN {} ELSE @,
              !.truncateIndex = -1]

ToTruncate(d, index) ==
    [d EXCEPT !.type = "TRUNCATE", !.compareIndex = -1, !.truncateIndex = index]

ToAppend(s, peer, index) ==
    LET marked == UpdatePeerWaterMark(s, peer, s.dispatchers[peer].term, index)
    IN  [marked EXCEPT !.dispatchers[peer] =
            [@ EXCEPT !.type = "APPEND", !.compareIndex = -1, !.truncateIndex = -1,
                      !.writeIndex = index + 1]]

\* EntryDispatcher.checkAndFreshState: a dispatcher of another term starts with COMPARE.  Published: one
\* that was comparing goes on from its compareIndex, below which the peer may hold more by now, and the
\* TRUNCATE cuts that.  Repaired: it starts from the end of the log.
CheckAndFreshState(s, peer) ==
    LET d     == ToCompare(s.dispatchers[peer])
        fresh == [d EXCEPT !.term = s.currTerm,
                           !.compareIndex = IF KeepsCompareIndex THEN @ ELSE -1]
    IN  IF s.dispatchers[peer].term = s.currTerm THEN s ELSE [s EXCEPT !.dispatchers[peer] = fresh]

Awaits(s, peer, type) == s.dispatchers[peer].awaiting = type

\* ACTION DoCompare: the leader asks whether the peer holds the entry at compareIndex.
\* Source: EntryDispatcher.doCompare, up to the push.
DoCompare(n) ==
    \E peer \in Peers(n) :
    LET s       == CheckAndFreshState(node[n], peer)
        d       == s.dispatchers[peer]
        end     == EndIndex(s.log)
        revised == IF d.compareIndex > end \/ d.compareIndex < BeginIndex(s.log) THEN end
                   ELSE d.compareIndex
        t       == [s EXCEPT !.dispatchers[peer] =
                       [d EXCEPT !.compareIndex = revised, !.awaiting = "COMPARE"]]
    IN  /\ s.role = "LEADER"
        /\ d.type = "COMPARE"
        /\ Awaits(s, peer, "NOTHING")
        /\ HasEntry(s.log, revised)
        /\ MaySend(n, peer)
        /\ Send(n, t, Request(n, peer, t, "COMPARE", revised))

\* What a COMPARE answer leads to: the six outcomes of EntryDispatcher.doCompare.
AfterCompare(s, peer, m) ==
    LET d     == s.dispatchers[peer]
        begin == BeginIndex(s.log)
        \* The peer does not hold the entry: compare further down, or cut all.
        Down(index) == IF index < begin THEN [s EXCEPT !.dispatchers[peer] = ToTruncate(d, begin)]
                       ELSE [s EXCEPT !.dispatchers[peer].compareIndex = index]
    IN  IF m.code \notin {"SUCCESS", "INCONSISTENT_STATE"}
        THEN [s EXCEPT !.dispatchers[peer] = ToCompare(@)]
        ELSE IF m.code = "SUCCESS"
        THEN IF m.endIndex = d.compareIndex
             THEN ToAppend(s, peer, d.compareIndex)
             ELSE [s EXCEPT !.dispatchers[peer] = ToTruncate(d, d.compareIndex)]
        ELSE IF m.endIndex < begin \/ m.beginIndex > EndIndex(s.log)  \* the logs do not meet
        THEN [s EXCEPT !.dispatchers[peer] = ToTruncate(d, begin)]
        ELSE IF d.compareIndex < m.beginIndex
        THEN [s EXCEPT !.dispatchers[peer] = ToTruncate(d, begin)]
        ELSE IF d.compareIndex > m.endIndex
        THEN Down(m.endIndex)
        ELSE Down(d.compareIndex - 1)

\* ACTION HandleCompareResponse: the dispatcher learns what the peer answered.
\* Source: EntryDispatcher.doCompare, from the answer on.
HandleCompareResponse(n) ==
    \E m \in Inbox(n) :
    LET s        == node[n]
        answered == [s EXCEPT !.dispatchers[m.src].awaiting = "NOTHING"]
    IN  /\ s.role # "DOWN"
        /\ IsResponse(m, "COMPARE")
        /\ Awaits(s, m.src, "COMPARE")
        /\ node' = [node EXCEPT ![n] = AfterCompare(answered, m.src, m)]
        /\ TakeAnswer(n, m)

\* ACTION DoTruncate: the leader tells the peer where its log must end.
\* Source: EntryDispatcher.doTruncate, up to the push.
DoTruncate(n) ==
    \E peer \in Peers(n) :
    LET s == node[n]
        d == s.dispatchers[peer]
        t == [s EXCEPT !.dispatchers[peer].awaiting = "TRUNCATE"]
    IN  /\ s.role # "DOWN"
        /\ d.type = "TRUNCATE"
        /\ d.truncateIndex # -1
        /\ HasEntry(s.log, d.truncateIndex)
        /\ Awaits(s, peer, "NOTHING")
        /\ MaySend(n, peer)
        /\ Send(n, t, Request(n, peer, t, "TRUNCATE", d.truncateIndex))

\* ACTION HandleTruncateResponse: success opens APPEND, anything else begins again.
\* Source: EntryDispatcher.doTruncate, from the answer on; doWork's handler of exceptions.
HandleTruncateResponse(n) ==
    \E m \in Inbox(n) :
    LET s        == node[n]
        answered == [s EXCEPT !.dispatchers[m.src].awaiting = "NOTHING"]
    IN  /\ s.role # "DOWN"
        /\ IsResponse(m, "TRUNCATE")
        /\ Awaits(s, m.src, "TRUNCATE")
        /\ node' = [node EXCEPT ![n] =
                      IF m.code = "SUCCESS" THEN ToAppend(answered, m.src, m.index)
                      ELSE [answered EXCEPT !.dispatchers[m.src] = ToCompare(@)]]
        /\ TakeAnswer(n, m)

\* The dispatcher of n for peer is in its loop in APPEND.
Appending(n, peer) ==
    LET d == node[n].dispatchers[peer] IN
    /\ node[n].role = "LEADER"
    /\ d.term = node[n].currTerm
    /\ d.type = "APPEND"
    /\ Awaits(node[n], peer, "NOTHING")

\* EntryDispatcher.maxPendingSize: so many pushes may be unanswered.
MaxPendingSize == 1000
IsFull(d)      == PendingMap /\ Cardinality(d.pendings) >= MaxPendingSize

\* The dispatcher d pushed so many entries from index on by APPEND.
Pushed(d, index, count) ==
    IF ~PendingMap THEN d
    ELSE [d EXCEPT !.pendings = {p \in @ : p.index # index} \cup {[index |-> index, count |-> count]}]

\* ACTION DoAppend: the leader pushes the entry at writeIndex.
\* Source: EntryDispatcher.doAppend, doAppendInner.
DoAppend(n) ==
    \E peer \in Peers(n) :
    LET s     == node[n]
        index == s.dispatchers[peer].writeIndex
        t     == [s EXCEPT !.dispatchers[peer] = [Pushed(@, index, 1) EXCEPT !.writeIndex = index + 1]]
    IN  /\ ~Batches
        /\ Appending(n, peer)
        /\ MaySend(n, peer)
        /\ ~IsFull(s.dispatchers[peer])
        /\ HasEntry(s.log, index)
        /\ Send(n, t, Request(n, peer, t, "APPEND", index))

\* ACTION DoBatchAppend: the leader pushes so many entries from writeIndex on in one APPEND: all there are,
\* or as many as make a batch of full size.
\* Source: EntryDispatcher.doBatchAppend, doBatchAppendInner, sendBatchAppendEntryRequest.
DoBatchAppend(n) ==
    \E peer \in Peers(n) : \E count \in 1..EndIndex(node[n].log) - node[n].dispatchers[peer].writeIndex + 1 :
    LET s     == node[n]
        index == s.dispatchers[peer].writeIndex
        t     == [s EXCEPT !.dispatchers[peer] =
                     [Pushed(@, index, count) EXCEPT !.writeIndex = index + count]]
    IN  /\ Batches
        /\ Appending(n, peer)
        /\ MaySend(n, peer)
        /\ ~IsFull(s.dispatchers[peer])
        /\ \A i \in index..index + count - 1 : HasEntry(s.log, i)
        /\ Send(n, t, BatchRequest(n, peer, t, index, count))

\* ACTION DoCheckAppendResponse: the leader pushes the first unanswered entry once more.
\* Source: EntryDispatcher.doCheckAppendResponse.
DoCheckAppendResponse(n) ==
    \E peer \in Peers(n) :
    LET s     == node[n]
        d     == s.dispatchers[peer]
        index == s.peerWaterMarks[peer] + 1
    IN  /\ ~Batches
        /\ Appending(n, peer)
        /\ MaySend(n, peer)
        /\ d.writeIndex > EndIndex(s.log) \/ IsFull(d)
        /\ PendingMap => [index |-> index, count |-> 1] \in d.pendings
        /\ HasEntry(s.log, index)
        /\ Send(n, s, Request(n, peer, s, "APPEND", index))

\* ACTION DoCheckBatchAppendResponse: the leader pushes the first unanswered batch once more.
\* Source: EntryDispatcher.doCheckBatchAppendResponse.
DoCheckBatchAppendResponse(n) ==
    \E peer \in Peers(n) :
    LET s       == node[n]
        d       == s.dispatchers[peer]
        index   == s.peerWaterMarks[peer] + 1
        pending == {p \in d.pendings : p.index = index}
        count   == (CHOOSE p \in pending : TRUE).count
    IN  /\ Batches
        /\ Appending(n, peer)
        /\ MaySend(n, peer)
        /\ d.writeIndex > EndIndex(s.log) \/ IsFull(d)
        /\ pending # {}
        /\ \A i \in index..index + count - 1 : HasEntry(s.log, i)
        /\ Send(n, s, BatchRequest(n, peer, s, index, count))

\* ACTION CheckLeak: the dispatcher forgets what it pushed below the peer's watermark; of batches, what
\* it pushed up to there.
\* Source: EntryDispatcher.doAppend and doBatchAppend, once a second or when the map is full.
CheckLeak(n) ==
    \E peer \in Peers(n) :
    LET mark     == node[n].peerWaterMarks[peer]
        Stays(p) == IF Batches THEN p.index + p.count - 1 > mark ELSE p.index >= mark
    IN  /\ PendingMap
        /\ Appending(n, peer)
        /\ node[n].dispatchers[peer].writeIndex <= EndIndex(node[n].log)
        /\ Step(n, [node[n] EXCEPT !.dispatchers[peer].pendings = {p \in @ : Stays(p)}])

\* ACTION HandleAppendResponse: a stored entry raises the peer's watermark; an inconsistent one
\* sends the dispatcher back to COMPARE, whatever it is doing; REPEATED_PUSH does nothing.
\* Source: EntryDispatcher.doAppendInner and sendBatchAppendEntryRequest, the callbacks.
HandleAppendResponse(n) ==
    \E m \in Inbox(n) :
    LET s        == node[n]
        answered == [s EXCEPT !.dispatchers[m.src].pendings = {p \in @ : p.index # m.index}]
        last     == IF IsBatch(m) THEN m.index + m.count - 1 ELSE m.index
    IN  /\ s.role # "DOWN"
        /\ IsResponse(m, "APPEND")
        /\ node' = [node EXCEPT ![n] =
                      CASE m.code = "SUCCESS" -> UpdatePeerWaterMark(answered, m.src, m.term, last)
                        [] m.code = "INCONSISTENT_STATE" -> [s EXCEPT !.dispatchers[m.src] = ToCompare(@)]
                        [] m.code = "REPEATED_PUSH" -> s]
        /\ network' = Received(network, m)
        /\ UNCHANGED <<received, history>>

\* ACTION DoCommit: nothing to push, so the leader tells its committed index.
\* Source: EntryDispatcher.doCommit; the answer is ignored.
DoCommit(n) ==
    \E peer \in Peers(n) :
    /\ Appending(n, peer)
    /\ MaySend(n, peer)
    /\ node[n].dispatchers[peer].writeIndex > EndIndex(node[n].log)
    /\ Send(n, node[n], CommitRequest(n, peer, node[n]))

\* ACTION PushTimeOut: a COMPARE or TRUNCATE gets no answer, and its dispatcher begins again.
\* Source: EntryDispatcher.doWork's handler of exceptions; a late answer is ignored.
PushTimeOut(n) ==
    \E peer \in Peers(n) :
    LET s       == node[n]
        waiting == s.dispatchers[peer].awaiting
        t       == [s EXCEPT !.dispatchers[peer] = [ToCompare(@) EXCEPT !.awaiting = "NOTHING"]]
        Gone(m) == m.type = waiting
    IN  /\ TimeOuts /\ MayTimeOut(n, peer)
        /\ s.role # "DOWN"
        /\ waiting # "NOTHING"
        /\ node' = [node EXCEPT ![n] = t]
        /\ network' = Abandon(network, n, peer, Gone)
        /\ received' = AbandonQueued(received, n, peer, Gone)
        /\ UNCHANGED history

=============================================================================
