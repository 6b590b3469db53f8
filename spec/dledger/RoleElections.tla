--------------------------- MODULE RoleElections ----------------------------
(***************************************************************************)
(* Elections as one step, and step by step at the grain of roles.          *)
(***************************************************************************)
EXTENDS Messages

\* DLedgerConfig: who turns other candidates away while it takes over.  This is the default.
PreferredLeaders == {}

\* The MemberState of n, as it looks to a rule of an election.
Member(n, s) ==
    [id |-> n, currTerm |-> s.currTerm,
     hasVoted |-> s.currVoteFor # NoNode, currVoteFor |-> s.currVoteFor,
     hasLeader |-> s.leaderId # NoNode, leaderId |-> s.leaderId, isLeader |-> s.role = "LEADER",
     ledgerEndTerm |-> s.ledgerEndTerm, ledgerEndIndex |-> EndIndex(s.log),
     hasTransferee |-> s.election.transferee # NoNode,
     isTakingLeadership |-> n \in PreferredLeaders /\ s.election.termToTakeLeadership = s.currTerm]

\* What a candidate c, in the state s, tells of itself where vote requests are left out.
Candidacy(c, s) ==
    [src |-> c, term |-> s.currTerm, ledgerEndTerm |-> s.ledgerEndTerm, ledgerEndIndex |-> EndIndex(s.log)]

\* A node enters a term it was not in: its vote and its watermarks are of the past.
InTerm(s, term) ==
    IF term = s.currTerm THEN s
    ELSE [s EXCEPT !.currTerm = term, !.currVoteFor = NoNode, !.votes = {},
                   !.peerWaterMarks = NoMarks]

Follow(s, term, leader) ==
    [InTerm(s, term) EXCEPT !.role = "FOLLOWER", !.leaderId = leader]

Lead(n, s, term) ==
    [InTerm(s, term) EXCEPT !.role = "LEADER", !.leaderId = n, !.currVoteFor = n]

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
                          /\ LedgerCode(Member(q, node[q]), Candidacy(n, node[n])) = "NONE"
    /\ node' = [q \in Node |->
                  IF q = n THEN Lead(n, node[n], term)
                  ELSE IF q \in voters
                  THEN [Follow(node[q], term, n) EXCEPT !.currVoteFor = n]
                  ELSE node[q]]
    /\ UNCHANGED <<network, received, history>>

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

\* By the rules that a vote request is answered by.
Accepts(n, candidate) ==
    LET asked == Candidacy(candidate, node[candidate])
    IN  /\ node[n].role # "DOWN"
        /\ node[candidate].role = "CANDIDATE"
        /\ VoteCode(Member(n, node[n]), asked, Node, n = candidate) = "ACCEPT"

\* ACTION SetCurrVoteFor: n accepts the candidate in its term.
\* Source: DLedgerLeaderElector.handleVote, the branch that ends in ACCEPT; roles are not checked.
SetCurrVoteFor(n) ==
    \E candidate \in Node :
    /\ StepwiseElections /\ ~VoteMessages
    /\ Accepts(n, candidate)
    /\ LET votedFor == [node EXCEPT ![n].currVoteFor = candidate]
       IN  node' = [votedFor EXCEPT ![candidate].votes = @ \cup {n}]
    /\ UNCHANGED <<network, received, history>>

\* ACTION ChangeToLeader: a candidate that a quorum accepted becomes the leader of its term.
\* Source: MemberState.changeToLeader.
ChangeToLeader(n) ==
    /\ StepwiseElections /\ ~VoteMessages
    /\ node[n].role = "CANDIDATE"
    /\ IsQuorum(node[n].votes, Node)
    /\ node' = [node EXCEPT ![n].role = "LEADER", ![n].leaderId = n]
    /\ elected' = elected \cup {[term |-> node[n].currTerm, leader |-> n]}
    /\ UNCHANGED <<network, received, committed, acknowledged>>

\* ACTION ChangeToFollower: n follows the leader of a term, its own or a higher one.
\* Source: DLedgerLeaderElector.handleHeartBeat; MemberState.changeToFollower.
\* With votes message by message a heartbeat may be late: the leader may lead no more.
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
