------------------------------- MODULE Commit -------------------------------
(***************************************************************************)
(* The leader's QuorumAckChecker and the StateMachineCaller.  The reader   *)
(* learns when an entry is committed, and when its client is answered.     *)
(*                                                                         *)
(* Again and again the QuorumAckChecker makes a pass: it computes the      *)
(* quorum index from the watermarks, commits up to there, and answers the  *)
(* clients up to there.  With SplitQuorumCheck a pass reads in one step    *)
(* and acts in another; between the two anything may happen.               *)
(*                                                                         *)
(* With Applies a state machine applies what is committed, and answers the *)
(* clients of these entries.                                               *)
(***************************************************************************)
EXTENDS Clients

-----------------------------------------------------------------------------
(* A pass.  It is the term that it read and the index that it found.       *)

\* As published, any entry that a quorum stores.  Repaired, as in 0.4.0, one of the leader's own term.
QuorumIndex(state) ==
    LET index == QuorumIndexBySorting(state.peerWaterMarks) IN
    IF PriorTermCommit \/ TermAt(state.log, index) = state.currTerm THEN index ELSE -1

InPass(state) == state.checking # NoPass

\* Up to where clients are answered: as published, the quorum index; repaired, no further than is committed.
AckIndex(state, index) ==
    IF AckByQuorumIndex THEN index ELSE Min({index, state.committedIndex})

\* A pass acts: it commits, lets the state machine apply, and answers clients.
Passed(before, pass) ==
    LET learnt == LearnCommitted(before, pass.term, pass.index)
        ack    == AckIndex(learnt, pass.index)
        ended  == ToAnswer(learnt, pass.term, ack)
        after  == WithoutFutures(learnt, pass.term, ended)
    IN  [node |-> [after EXCEPT !.lastQuorumIndex = ack, !.checking = NoPass],
         acknowledged |-> Success(learnt, pass.term, ended)]

\* What a leader of this term commits when it goes from one state to the other.
NewlyCommitted(before, after, term) ==
    {[term |-> term, index |-> i, entry |-> Entry(before.log, i)] :
        i \in before.committedIndex + 1 .. after.committedIndex}

ActOn(n, before, pass) ==
    LET handled == Passed(before, pass)
    IN  /\ Acknowledge(n, handled)
        /\ committed' = committed \cup NewlyCommitted(before, handled.node, pass.term)

\* ACTION QuorumAckChecker: the leader looks at what a quorum stores; a pass of one step commits it.
\* Source: QuorumAckChecker.doWork; up to the reading of the watermarks.
QuorumAckChecker(n) ==
    LET clean == CleanFutures(node[n])
        pass  == [term |-> clean.currTerm, index |-> QuorumIndex(clean)]
    IN  /\ clean.role = "LEADER"
        /\ ~InPass(clean)
        /\ IF SplitQuorumCheck THEN Step(n, [clean EXCEPT !.checking = pass])
           ELSE ActOn(n, clean, pass)

\* ACTION ActOnQuorumIndex: what a pass read is committed, though the node may lead no more.
\* Source: QuorumAckChecker.doWork, from updateCommittedIndex on.
ActOnQuorumIndex(n) ==
    /\ node[n].role # "DOWN"
    /\ InPass(node[n])
    /\ ActOn(n, node[n], node[n].checking)

\* ACTION RefreshOwnWaterMark: the leader marks all it stores as its own, once a second.
\* Source: QuorumAckChecker.doWork, beside the leak check.
RefreshOwnWaterMark(n) ==
    /\ node[n].role = "LEADER"
    /\ Step(n, UpdatePeerWaterMark(node[n], n, node[n].currTerm, EndIndex(node[n].log)))

-----------------------------------------------------------------------------
(* The state machine.                                                      *)

\* What it is to apply and has not applied; of that, what it can read before it meets a hole.
ToApply(state)   == state.lastAppliedIndex + 1 .. state.applyIndex
CanApply(state)  == {i \in ToApply(state) : \A k \in state.lastAppliedIndex + 1 .. i : HasEntry(state.log, k)}

Applied(before) ==
    LET there == CanApply(before)
        after == WithoutFutures(before, before.currTerm, there)
    IN  [node |-> IF there # ToApply(before) THEN after
                  ELSE [after EXCEPT !.lastAppliedIndex = before.applyIndex],
         acknowledged |-> Success(before, before.currTerm, there)]

\* ACTION DoCommitted: the state machine applies entries; their clients are answered.
\* Source: StateMachineCaller.doCommitted; an entry that is not there ends it, and it begins again later.
DoCommitted(n) ==
    /\ node[n].role # "DOWN"
    /\ ToApply(node[n]) # {}
    /\ Acknowledge(n, Applied(node[n]))
    /\ UNCHANGED committed

=============================================================================
