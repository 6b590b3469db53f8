------------------------------- MODULE Commit -------------------------------
(***************************************************************************)
(* QuorumAckChecker, StateMachineCaller: what is committed, who is told.   *)
(***************************************************************************)
EXTENDS Clients

\* D1.  Published: any entry that a quorum stores.  Repaired (0.4.0): one of the leader's own term.
QuorumIndex(s) ==
    LET index == QuorumIndexBySorting(s.peerWaterMarks) IN
    IF CommitsPriorTerms \/ TermAt(s.log, index) = s.currTerm THEN index ELSE -1

\* What a pass has read; of a pass that was not begun: nothing.
InPass(s) == s.checking # NoPass

\* Clients of other terms than the current one are told TERM_CHANGED.
CleanFutures(s) == [s EXCEPT !.futures = FuturesOf(s, s.currTerm)]

\* D13.  Published: the state machine is told the index that was asked for.  Repaired: what the store
\* committed.
Tell(s, index) ==
    IF ~Applies THEN s
    ELSE [s EXCEPT !.toldIndex = Max({@, IF AppliesUnclamped THEN index ELSE s.committedIndex})]

\* D15.  Published: clients are answered up to the quorum index.  Repaired: up to what is committed.
AckIndex(s, index) ==
    IF AcksByQuorumIndex THEN index ELSE Min({index, s.committedIndex})

\* The futures of the term that a pass answers: from `to` downwards, above the last pass, without a gap.
\* Where there is a gap, all below `to` are answered as well (needCheck).
ToAnswer(s, term, to) ==
    LET mine    == {f.index : f \in FuturesOf(s, term)}
        run     == {i \in mine : s.lastQuorumIndex < i /\ i <= to /\ \A k \in i..to : k \in mine}
        whole   == to <= s.lastQuorumIndex \/ s.lastQuorumIndex + 1 \in run
        elapsed == IF whole THEN {} ELSE {i \in mine : i < to}
    IN  IF Applies THEN {} ELSE run \cup elapsed

\* What the clients are told whose futures of this term are at these indexes, if they still wait.
Success(s, term, indexes) ==
    {[index |-> f.index, entry |-> f.entry] :
        f \in {g \in FuturesOf(s, term) : g.index \in indexes /\ ~g.done}}

WithoutFutures(s, term, indexes) ==
    [s EXCEPT !.futures = {f \in @ : f.entry.term # term \/ f.index \notin indexes}]

\* A pass that read `check` stores the committed index, answers clients, and tells the state machine.
ActOn(n, s, check) ==
    LET t      == UpdateCommittedIndex(s, check.term, check.index)
        ack    == AckIndex(t, check.index)
        acked  == ToAnswer(t, check.term, ack)
        new    == {[term |-> check.term, index |-> i, entry |-> Entry(s.log, i)] :
                      i \in s.committedIndex + 1 .. t.committedIndex}
        told   == Tell(WithoutFutures(t, check.term, acked), check.index)
    IN  /\ node' = [node EXCEPT ![n] = [told EXCEPT !.lastQuorumIndex = ack, !.checking = NoPass]]
        /\ committed' = committed \cup new
        /\ acknowledged' = acknowledged \cup Success(t, check.term, acked)
        /\ UNCHANGED <<network, received, elected>>

\* ACTION QuorumAckChecker: the leader looks at what a quorum stores; a pass of one step commits it.
\* Source: QuorumAckChecker.doWork; up to the reading of the watermarks.
QuorumAckChecker(n) ==
    LET s     == CleanFutures(node[n])
        check == [term |-> s.currTerm, index |-> QuorumIndex(s)]
    IN  /\ s.role = "LEADER"
        /\ ~InPass(s)
        /\ IF SplitQuorumCheck THEN Step(n, [s EXCEPT !.checking = check])
           ELSE ActOn(n, s, check)

\* ACTION ActOnQuorumIndex: what a pass read is committed, though the node may lead no more.
\* Source: QuorumAckChecker.doWork, from updateCommittedIndex on.
ActOnQuorumIndex(n) ==
    /\ node[n].role # "DOWN"
    /\ InPass(node[n])
    /\ ActOn(n, node[n], node[n].checking)

\* ACTION RefreshOwnWaterMark: the leader marks all it stores as its own, once a second.
\* Source: QuorumAckChecker.doWork, beside the leak check.
RefreshOwnWaterMark(n) ==
    LET s == node[n] IN
    /\ s.role = "LEADER"
    /\ Step(n, UpdatePeerWaterMark(s, n, s.currTerm, EndIndex(s.log)))

\* ACTION CheckResponseFuturesTimeout: of the clients that wait without a gap behind the quorum index, the
\* first that was not told so yet waited too long.
\* Source: DLedgerEntryPusher.checkResponseFuturesTimeout: WAIT_QUORUM_ACK_TIMEOUT.
CheckResponseFuturesTimeout(n) ==
    LET s       == node[n]
        first   == (IF Applies THEN s.lastAppliedIndex ELSE s.lastQuorumIndex) + 1
        mine    == FuturesOf(s, s.currTerm)
        reached == {f \in mine : f.index >= first /\ \A k \in first..f.index : \E g \in mine : g.index = k}
        late    == {f \in reached : ~f.done /\ \A g \in reached : g.index < f.index => g.done}
    IN  /\ ClientTimeOuts
        /\ s.role = "LEADER"
        /\ late # {}
        /\ Step(n, [s EXCEPT !.futures = (@ \ late) \cup {[f EXCEPT !.done = TRUE] : f \in late}])

-----------------------------------------------------------------------------

(* The state machine: StateMachineCaller.                                  *)

\* ACTION DoCommitted: the state machine applies what it was told; clients of these entries are answered.
\* Source: StateMachineCaller.doCommitted; an entry that is not there ends it, and it begins again later.
DoCommitted(n) ==
    LET s       == node[n]
        indexes == s.lastAppliedIndex + 1 .. s.toldIndex
        there   == {i \in indexes : \A k \in s.lastAppliedIndex + 1 .. i : HasEntry(s.log, k)}
        t       == WithoutFutures(s, s.currTerm, there)
    IN  /\ s.role # "DOWN"
        /\ indexes # {}
        /\ node' = [node EXCEPT ![n] = IF there # indexes THEN t
                                       ELSE [t EXCEPT !.lastAppliedIndex = s.toldIndex]]
        /\ acknowledged' = acknowledged \cup Success(s, s.currTerm, there)
        /\ UNCHANGED <<network, received, elected, committed>>

=============================================================================
