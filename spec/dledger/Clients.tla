------------------------------ MODULE Clients -------------------------------
(***************************************************************************)
(* What clients ask of a leader.                                           *)
(***************************************************************************)
EXTENDS Store, Messages

\* DLedgerEntryPusher.updatePeerWaterMark: a watermark only grows.
UpdatePeerWaterMark(s, peer, term, index) ==
    IF term = s.currTerm /\ s.peerWaterMarks[peer] < index
    THEN [s EXCEPT !.peerWaterMarks[peer] = index]
    ELSE s

\* DLedgerConfig.maxPendingRequestsNum: so many clients may wait, and one more.
MaxPendingRequests == 10000
FuturesOf(s, term) == {f \in s.futures : f.entry.term = term}
IsPendingFull(s)   == Cardinality(FuturesOf(s, s.currTerm)) > MaxPendingRequests

\* A client waits for the last entry of s; it takes the place of one that waited for this index of the term.
WithFuture(s) ==
    LET f == [index |-> EndIndex(s.log), entry |-> Entry(s.log, EndIndex(s.log)), done |-> FALSE]
    IN  [s EXCEPT !.futures = {g \in @ : g.entry.term # f.entry.term \/ g.index # f.index} \cup {f}]

\* ACTION AppendAsLeader: the leader stores a client's entry and marks it as its own.

\* Source: DLedgerServer.handleAppend, DLedgerMmapFileStore.appendAsLeader, DLedgerEntryPusher.waitAck.
AppendAsLeader(n) ==
    \E value \in Value :
    LET s     == node[n]
        entry == [term |-> s.currTerm, value |-> value]
        t     == UpdatePeerWaterMark(StoreEntry(s, entry), n, s.currTerm, Len(s.log))
    IN  /\ s.role = "LEADER"
        /\ s.election.transferee = NoNode
        /\ MayAppend(n)
        /\ ~IsPendingFull(s)
        /\ node' = [node EXCEPT ![n] = IF Clients /\ Peers(n) # {} THEN WithFuture(t) ELSE t]
        /\ acknowledged' = IF Clients /\ Peers(n) = {}  \* a group of one answers at once
                            THEN acknowledged \cup {[index |-> Len(s.log), entry |-> entry]}
                            ELSE acknowledged
        /\ UNCHANGED <<network, received, elected, committed>>

\* ACTION AppendInBatch: the leader stores an entry of a client's batch that is not the last one, for which
\* AppendAsLeader follows, if n still leads: the client waits for that one, and that one is marked.
\* Source: DLedgerServer.handleAppend, its loop over a BatchAppendEntryRequest.
AppendInBatch(n) ==
    \E value \in Value :
    /\ Batches
    /\ node[n].role = "LEADER"
    /\ node[n].election.transferee = NoNode
    /\ MayAppend(n)
    /\ Step(n, StoreEntry(node[n], [term |-> node[n].currTerm, value |-> value]))

\* ACTION RefuseAppend: a client is told why nothing is appended, or, of a batch, nothing more; an empty
\* batch is refused last.
\* Source: DLedgerServer.handleAppend, its tests in its order, but for those of the group and the member.
RefuseAppend(n) ==
    \E code \in {"NOT_LEADER", "LEADER_TRANSFERRING", "LEADER_PENDING_FULL", "REQUEST_WITH_EMPTY_BODYS"} :
    /\ Clients
    /\ node[n].role # "DOWN"
    /\ code = IF node[n].role # "LEADER" THEN "NOT_LEADER"
              ELSE IF node[n].election.transferee # NoNode THEN "LEADER_TRANSFERRING"
              ELSE IF IsPendingFull(node[n]) THEN "LEADER_PENDING_FULL"
              ELSE "REQUEST_WITH_EMPTY_BODYS"
    /\ code = "REQUEST_WITH_EMPTY_BODYS" => Batches
    /\ UNCHANGED vars

=============================================================================
