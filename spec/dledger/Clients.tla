------------------------------ MODULE Clients -------------------------------
(***************************************************************************)
(* What clients ask of the leader, and who of them is answered.  The       *)
(* reader learns what a future is, and in which order futures end.         *)
(*                                                                         *)
(* A client appends one entry, or with Batches several, and waits.  The    *)
(* leader keeps a future for it; for a batch, that of its last entry.  A   *)
(* future ends when the entry is safe (see Commit), or when its term is    *)
(* over.  A client that has waited too long is answered with a time-out;   *)
(* its future is done then, and stays until it ends, without an answer.    *)
(***************************************************************************)
EXTENDS Store, Steps

\* DLedgerConfig.maxPendingRequestsNum: as many clients may wait, and one more.
MaxPendingRequests == 10000

FuturesOf(state, term) == {f \in state.futures : f.entry.term = term}
IsPendingFull(state)   == Cardinality(FuturesOf(state, state.currTerm)) > MaxPendingRequests

\* A client waits for the last entry of the log, in place of one that waited for this index of the term.
WithFuture(before) ==
    LET index  == EndIndex(before.log)
        future == [index |-> index, entry |-> Entry(before.log, index), done |-> FALSE]
        Other(f) == f.entry.term # future.entry.term \/ f.index # index
    IN  [before EXCEPT !.futures = {f \in @ : Other(f)} \cup {future}]

\* Nobody waits any more for the entries of this term at these indexes.
WithoutFutures(before, term, indexes) ==
    [before EXCEPT !.futures = {f \in @ : f.entry.term # term \/ f.index \notin indexes}]

\* What is acknowledged when these futures end well.
Success(state, term, indexes) ==
    {[index |-> f.index, entry |-> f.entry] :
        f \in {g \in FuturesOf(state, term) : g.index \in indexes /\ ~g.done}}

\* The form of a step in which clients are answered with SUCCESS.  Its handler has the entries that are
\* `acknowledged` in place of `out`.
Acknowledge(n, handled) ==
    /\ node' = [node EXCEPT ![n] = handled.node]
    /\ acknowledged' = acknowledged \cup handled.acknowledged
    /\ UNCHANGED <<network, received, elected>>

-----------------------------------------------------------------------------
(* Appending.                                                              *)

\* In a group of one the client is answered at once.
Appended(n, before, value) ==
    LET entry  == [term |-> before.currTerm, value |-> value]
        index  == Len(before.log)
        marked == UpdatePeerWaterMark(StoreEntries(before, <<entry>>), n, before.currTerm, index)
        waits  == Clients /\ Peers(n) # {}
    IN  [node |-> IF waits THEN WithFuture(marked) ELSE marked,
         acknowledged |-> IF Clients /\ ~waits THEN {[index |-> index, entry |-> entry]} ELSE {}]

\* ACTION AppendAsLeader: the leader stores a client's entry and marks it as its own.
\* Source: DLedgerServer.handleAppend, DLedgerMmapFileStore.appendAsLeader, DLedgerEntryPusher.waitAck.
AppendAsLeader(n) ==
    \E value \in Value :
    /\ node[n].role = "LEADER"
    /\ node[n].election.transferee = NoNode
    /\ MayAppend(n)
    /\ ~IsPendingFull(node[n])
    /\ Acknowledge(n, Appended(n, node[n], value))
    /\ UNCHANGED committed

\* ACTION AppendInBatch: the leader stores an entry of a client's batch that is not the last one, for which
\* AppendAsLeader follows, if n still leads: the client waits for that one, and that one is marked.
\* Source: DLedgerServer.handleAppend, its loop over a BatchAppendEntryRequest.
AppendInBatch(n) ==
    \E value \in Value :
    /\ Batches
    /\ node[n].role = "LEADER"
    /\ node[n].election.transferee = NoNode
    /\ MayAppend(n)
    /\ Step(n, StoreEntries(node[n], <<[term |-> node[n].currTerm, value |-> value]>>))

\* ACTION RefuseAppend: a client's append is refused, or the rest of its batch, and why; an empty batch is
\* refused last.
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

-----------------------------------------------------------------------------
(* Waiting.                                                                *)

\* Clients of earlier terms than the current one are answered with TERM_CHANGED.
CleanFutures(before) == [before EXCEPT !.futures = FuturesOf(before, before.currTerm)]

\* A pass of the QuorumAckChecker may answer up to index `to`: these are the indexes whose futures it ends.
\* It goes down from `to` to lastQuorumIndex, where the last pass began, and ends a run that stops where
\* nobody waits, as within a batch.  If it stopped too early, it ends all below `to` as well (needCheck).
\* With a state machine it ends none; DoCommitted does.  Examples, with lastQuorumIndex 2:
\*     clients wait for 3, 4 and 6, to is 4: the run is 4, 3
\*     clients wait for 3 and 5, to is 5: the run is 5 and stops before 4, too early; so 3 is ended as well
\*     clients wait for 3, to is 2: nobody
ToAnswer(state, term, to) ==
    LET mine    == {f.index : f \in FuturesOf(state, term)}
        run     == {i \in mine : state.lastQuorumIndex < i /\ i <= to /\ \A k \in i..to : k \in mine}
        whole   == to <= state.lastQuorumIndex \/ state.lastQuorumIndex + 1 \in run
        elapsed == IF whole THEN {} ELSE {i \in mine : i < to}
    IN  IF Applies THEN {} ELSE run \cup elapsed

\* The future that times out next, or none: of those that follow the last answered index without a gap, the
\* first that is not done.  Example: the last answered index is 2; clients wait for 3, 4 and 6, and the one of
\* 3 is done.  The next is 4.  Then there is none until the one of 4 ends and the last answered index moves.
Late(state) ==
    LET first   == (IF Applies THEN state.lastAppliedIndex ELSE state.lastQuorumIndex) + 1
        mine    == FuturesOf(state, state.currTerm)
        reached == {f \in mine : f.index >= first
                                 /\ \A k \in first..f.index : \E g \in mine : g.index = k}
    IN  {f \in reached : ~f.done /\ \A g \in reached : g.index < f.index => g.done}

\* ACTION CheckResponseFuturesTimeout: a client has waited too long, and is answered with
\* WAIT_QUORUM_ACK_TIMEOUT.
\* Source: DLedgerEntryPusher.checkResponseFuturesTimeout.
CheckResponseFuturesTimeout(n) ==
    LET late  == Late(node[n])
        after == [node[n] EXCEPT !.futures = (@ \ late) \cup {[f EXCEPT !.done = TRUE] : f \in late}]
    IN  /\ ClientTimeOuts
        /\ node[n].role = "LEADER"
        /\ late # {}
        /\ Step(n, after)

=============================================================================
