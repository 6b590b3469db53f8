---------------------------- MODULE CommitGuard -----------------------------
(***************************************************************************)
(* Exercise 5-guard.  Figure 8 begins where it gets dangerous: n1 led term *)
(* 1 and n2 led term 2; each holds one entry of its term, and n3 holds     *)
(* none.  Up to which index a leader may commit is left open: as it        *)
(* stands, up to the quorum index.  Write the rule in place of TRUE.       *)
(* Change nothing outside the two lines that mark the place.               *)
(*                                                                         *)
(* state is the leader's node[n]: state.currTerm, state.log;               *)
(* TermAt(log, i) is the term of the entry at index i, -1 if there is none.*)
(***************************************************************************)
EXTENDS MCDLedger

CONSTANTS n1, n2, n3

MayCommit(state, index) ==
    \* -- your guard begins
    TermAt(state.log, index) = state.currTerm
    \* -- your guard ends

\* The cfg puts this in the place of QuorumIndex.
QuorumIndexIf(state) ==
    LET index == QuorumIndexBySorting(state.peerWaterMarks) IN
    IF MayCommit(state, index) THEN index ELSE -1

Voted(n, term, for, log) ==
    [InitNode(n) EXCEPT !.currTerm = term, !.currVoteFor = for, !.log = log, !.disk = log,
                        !.ledgerEndTerm = EndTerm(log)]

Old(term) == <<[term |-> term, value |-> CHOOSE value \in Value : TRUE]>>

\* n1 may lead term 3, and then n2 term 4; a client appends at n1 once; both bring n3 in line alone.
Stands(n) == LET led == Max({node[q].currTerm : q \in Node}) IN
             (n = n1 /\ led = 2) \/ (n = n2 /\ led = 3)
Appends(n)        == n = n1 /\ node[n].currTerm = 3 /\ Len(node[n].log) < MaxLog
SendsTo(n, peer)  == MCMaySend(n, peer) /\ peer = n3

Begins ==
    /\ node = (n1 :> Voted(n1, 1, n1, Old(1)) @@ n2 :> Voted(n2, 2, n2, Old(2)) @@ n3 :> Voted(n3, 2, n2, << >>))
    /\ network = [n \in Node |-> [p \in Peers(n) |-> EmptyChannel]]
    /\ received = [n \in Node |-> EmptyQueues]
    /\ elected = {}
    /\ committed = {}
    /\ acknowledged = {}

\* What must still happen: an entry of the leader's own term is committed, and with it what is below.
OwnTermCommits == \E c \in committed : c.index = 1 /\ c.entry.term = c.term

=============================================================================
