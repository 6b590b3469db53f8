--------------------------- MODULE RoleElections ----------------------------
(***************************************************************************)
(* Elections without their messages.  The reader learns how a node changes *)
(* its role, and the two coarse ways to elect a leader.                    *)
(*                                                                         *)
(* ElectLeader is a whole election in one step: the coarsest way, for      *)
(* models of replication.  With StepwiseElections each raised term, vote   *)
(* and change of role is a step: that is what recordings of DLedger show.  *)
(* The vote requests and heartbeats themselves are left out: a vote is     *)
(* given on the candidate's state as it is, and a follower knows of every  *)
(* leader there has been (elected).  With VoteMessages these steps are     *)
(* replaced by those of MessageElections.                                  *)
(***************************************************************************)
EXTENDS Steps

\* DLedgerConfig: the nodes that turn other candidates away while they take over.  This is the default.
PreferredLeaders == {}

\* The MemberState of n, as the rules of an election look at it.
Member(n, state) ==
    [id |-> n, currTerm |-> state.currTerm,
     hasVoted |-> state.currVoteFor # NoNode, currVoteFor |-> state.currVoteFor,
     hasLeader |-> state.leaderId # NoNode, leaderId |-> state.leaderId,
     isLeader |-> state.role = "LEADER",
     ledgerEndTerm |-> state.ledgerEndTerm, ledgerEndIndex |-> EndIndex(state.log),
     hasTransferee |-> state.election.transferee # NoNode,
     isTakingLeadership |-> /\ n \in PreferredLeaders
                            /\ state.election.termToTakeLeadership = state.currTerm]

\* The vote request of n.
Candidacy(n, state) ==
    [src |-> n, term |-> state.currTerm,
     ledgerEndTerm |-> state.ledgerEndTerm, ledgerEndIndex |-> EndIndex(state.log)]

\* The end of a log, which is all that the log rule reads.
LedgerEnd(state) == [ledgerEndTerm |-> state.ledgerEndTerm, ledgerEndIndex |-> EndIndex(state.log)]

\* The answer of q to n by the log rule alone, as their logs are now.
LedgerAnswer(q, n) == LedgerCode(LedgerEnd(node[q]), LedgerEnd(node[n]))

-----------------------------------------------------------------------------
(* Changes of a node.                                                      *)

\* In a new term a node has given no vote, and knows no watermark.
InTerm(before, term) ==
    IF term = before.currTerm THEN before
    ELSE [before EXCEPT !.currTerm = term, !.currVoteFor = NoNode, !.votes = {},
                        !.peerWaterMarks = NoMarks]

Follow(before, term, leader) ==
    [InTerm(before, term) EXCEPT !.role = "FOLLOWER", !.leaderId = leader]

Lead(n, before, term) ==
    [InTerm(before, term) EXCEPT !.role = "LEADER", !.leaderId = n, !.currVoteFor = n]

-----------------------------------------------------------------------------
(* One step.                                                               *)

\* ACTION ElectLeader: n wins the votes of a quorum in a new term, which then follows it.
\* Source: DLedgerLeaderElector.maintainAsCandidate, handleVote, as one step.
ElectLeader(n) ==
    \E voters \in SUBSET Node :
    LET term == 1 + Max({node[q].currTerm : q \in voters}) IN
    /\ ~StepwiseElections
    /\ MayElect(n)
    /\ n \in voters
    /\ IsQuorum(voters, Node)
    /\ \A q \in voters : /\ node[q].role # "DOWN"
                         /\ LedgerAnswer(q, n) = "NONE"
    /\ node' = [q \in Node |->
                  IF q = n THEN Lead(n, node[n], term)
                  ELSE IF q \in voters
                  THEN [Follow(node[q], term, n) EXCEPT !.currVoteFor = n]
                  ELSE node[q]]
    /\ UNCHANGED <<network, received, elected, history>>

-----------------------------------------------------------------------------
(* Step by step.                                                           *)

\* ACTION ChangeToCandidate: n loses its leader or its leadership, or hears of a higher term.
\* Source: MemberState.changeToCandidate; the term is raised later, by NextTerm.
\* Votes count within one candidacy; a candidate that hears of a higher term goes on with its round.
ChangeToCandidate(n) ==
    /\ ~VoteMessages
    /\ StepDowns
    /\ node[n].role \in {"LEADER", "FOLLOWER", "CANDIDATE"}
    /\ Step(n, [node[n] EXCEPT !.role = "CANDIDATE", !.leaderId = NoNode,
                               !.votes = IF node[n].role = "CANDIDATE" THEN @ ELSE {}])

\* The next term of n, and those it may have heard of: up to the highest that some node is in.
HigherTerms(n) == LET next == node[n].currTerm + 1
                  IN  next..Max({next} \cup {node[q].currTerm : q \in Node})

\* ACTION NextTerm: a candidate raises its term, to the next one or to one it heard of.
\* Source: MemberState.nextTerm.
NextTerm(n) ==
    \E term \in HigherTerms(n) :
    /\ StepwiseElections /\ ~VoteMessages
    /\ MayElect(n)
    /\ node[n].role = "CANDIDATE"
    /\ Step(n, InTerm(node[n], term))

\* n would answer the candidate's vote request with ACCEPT. The request may be late: others have elected
\* the candidate since, and n may follow it already. The log that it had then is not kept.
Accepts(n, candidate) ==
    LET request == Candidacy(candidate, node[candidate])
    IN  /\ node[n].role # "DOWN"
        /\ node[candidate].role \in {"CANDIDATE"} \cup (IF n = candidate THEN {} ELSE {"LEADER"})
        /\ VoteCode(Member(n, node[n]), request, Node, n = candidate) = "ACCEPT"

\* ACTION SetCurrVoteFor: n accepts the candidate in its term.
\* Source: DLedgerLeaderElector.handleVote, the branch that ends in ACCEPT; roles are not checked.
\* Nobody counts the vote for a leader: its round is over.
SetCurrVoteFor(n) ==
    \E candidate \in Node :
    /\ StepwiseElections /\ ~VoteMessages
    /\ Accepts(n, candidate)
    /\ LET votedFor == [node EXCEPT ![n].currVoteFor = candidate]
       IN  node' = IF node[candidate].role = "LEADER" THEN votedFor
                   ELSE [votedFor EXCEPT ![candidate].votes = @ \cup {n}]
    /\ UNCHANGED <<network, received, elected, history>>

\* ACTION ChangeToLeader: a candidate that a quorum accepted becomes the leader of its term.
\* Source: MemberState.changeToLeader.
ChangeToLeader(n) ==
    /\ StepwiseElections /\ ~VoteMessages
    /\ node[n].role = "CANDIDATE"
    /\ IsQuorum(node[n].votes, Node)
    /\ node' = [node EXCEPT ![n].role = "LEADER", ![n].leaderId = n]
    /\ elected' = elected \cup {[term |-> node[n].currTerm, leader |-> n]}
    /\ UNCHANGED <<network, received, history>>

\* ACTION ChangeToFollower: n follows the leader of a term, its own or a higher one.
\* Source: DLedgerLeaderElector.handleHeartBeat; MemberState.changeToFollower.
\* Step by step, the heartbeat may be late: the leader may lead no more.
ChangeToFollower(n) ==
    \E leader \in Peers(n) :
    /\ ~VoteMessages
    /\ node[n].role # "DOWN"
    /\ IF ~StepwiseElections
       THEN /\ node[leader].role = "LEADER"
            /\ node[leader].currTerm >= node[n].currTerm
            /\ node[n].leaderId # leader \/ node[leader].currTerm > node[n].currTerm
            /\ Step(n, Follow(node[n], node[leader].currTerm, leader))
       ELSE /\ node[n].role = "CANDIDATE"
            /\ [term |-> node[n].currTerm, leader |-> leader] \in elected
            /\ Step(n, Follow(node[n], node[n].currTerm, leader))

=============================================================================
