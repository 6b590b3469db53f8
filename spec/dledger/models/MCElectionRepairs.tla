-------------------------- MODULE MCElectionRepairs --------------------------
(***************************************************************************)
(* Two of DLedger's own repairs of elections.  The reader learns how a     *)
(* vote request of a higher term may move a group to that term, whatever   *)
(* log its sender has, and what of a round must then be looked at again.   *)
(* README.md has the verdicts; each cfg replaces operators of the spec by  *)
(* those below.                                                            *)
(***************************************************************************)
EXTENDS MCElection

-----------------------------------------------------------------------------
(* #326, which was not taken: a voter compares the logs only with a        *)
(* candidate of its own term, or of an earlier one.  One of a later term   *)
(* makes it a candidate that goes there, as before.                        *)

LedgerCodeUpToOwnTerm(voter, m) ==
    IF m.term > voter.currTerm THEN "NONE"
    ELSE IF m.ledgerEndTerm < voter.ledgerEndTerm THEN "REJECT_EXPIRED_LEDGER_TERM"
    ELSE IF m.ledgerEndTerm = voter.ledgerEndTerm /\ m.ledgerEndIndex < voter.ledgerEndIndex
    THEN "REJECT_SMALL_LEDGER_END_INDEX"
    ELSE "NONE"

-----------------------------------------------------------------------------
(* #332, which is open.  A request of a higher term, for a vote or a       *)
(* heartbeat, makes its receiver a follower in that term, at once; then it *)
(* is answered, as in Raft.  So a node may follow nobody, and its term may *)
(* be raised while its StateMaintainer waits for the answers to a round.   *)
(* The round stays one of the term in which it began, which the node       *)
(* compares with its own before it changes its role.                       *)

LedgerCodeInOwnTerm(voter, m) ==
    IF m.term < voter.currTerm THEN "NONE" ELSE LedgerCodeUpToOwnTerm(voter, m)

\* A round has a term: that of its requests.
EagerRound   == [type: {"NONE", "VOTE", "HEARTBEAT"},
                 term: Index,
                 ledgerEndTerm: Index,
                 ledgerEndIndex: Index,
                 maxTerm: Index,
                 answers: [Node -> {"NONE"} \cup VoteCodes \cup HeartBeatCodes]]
EagerNoRound == [type |-> "NONE", term |-> -1, ledgerEndTerm |-> -1, ledgerEndIndex |-> -1, maxTerm |-> -1,
                 answers |-> [p \in Node |-> "NONE"]]

EagerRoundOfVotes(before) ==
    LET asking == IF RaisesTerm(before) THEN Raised(before) ELSE before
        round  == [NoRound EXCEPT !.type = "VOTE", !.term = asking.currTerm, !.maxTerm = asking.currTerm,
                                  !.ledgerEndTerm = asking.ledgerEndTerm,
                                  !.ledgerEndIndex = EndIndex(asking.log)]
    IN  [asking EXCEPT !.election.round = round]

\* Source: DLedgerLeaderElector.maintainAsLeader, sendHeartbeats.
EagerSendHeartbeats(n) ==
    LET after == [node[n] EXCEPT !.election.round = [NoRound EXCEPT !.type = "HEARTBEAT",
                                                                    !.term = node[n].currTerm,
                                                                    !.answers[n] = "SUCCESS"]]
        To(p) == HeartBeatRequest(n, p, after)
    IN  /\ VoteMessages
        /\ MayBeat(n)
        /\ Idle(n)
        /\ node[n].role = "LEADER"
        /\ ActOnAll(n, after, To)

-----------------------------------------------------------------------------
(* The receiver.                                                           *)

\* changeRoleToFollower, MemberState.changeToFollower.  A term that is not later than this one is forgotten.
EntersAsFollower(n, before, term, leader) ==
    RoleChanged(n, [InTerm(before, term)
                       EXCEPT !.role = "FOLLOWER", !.leaderId = leader,
                              !.election.voteNext = FALSE,
                              !.election.knownMaxTerm = IF @ > term THEN @ ELSE -1,
                              !.election.transferee = NoNode], term)

\* Source: DLedgerLeaderElector.handleVote.
EagerVoteHandled(n, before, m, self) ==
    LET here   == IF m.term > before.currTerm THEN EntersAsFollower(n, before, m.term, NoNode)
                  ELSE Quietly(before)
        code   == VoteCode(Member(n, here.node), m, Node, self)
        after  == IF code = "ACCEPT" THEN [here.node EXCEPT !.currVoteFor = m.src] ELSE here.node
        term   == IF code = "REJECT_TERM_SMALL_THAN_LEDGER" THEN after.ledgerEndTerm ELSE after.currTerm
        answer == ElectionResponse(n, m.src, "VOTE", term, code)
    IN  [node |-> after, code |-> code,
         out |-> IF m.awaited /\ ~self THEN Append(here.out, answer) ELSE here.out]

\* Source: DLedgerLeaderElector.handleHeartBeat.
EagerHeartBeatHandled(n, before, m) ==
    LET higher  == m.term > before.currTerm
        code    == IF higher THEN "SUCCESS" ELSE HeartBeatCode(Member(n, before), m, Node)
        decided == CASE higher -> EntersAsFollower(n, before, m.term, m.src)
                     [] ~higher /\ code = "SUCCESS" /\ before.leaderId = NoNode ->
                            ToFollower(n, before, m.src)
                     [] OTHER -> Quietly(before)
        term    == IF code = "EXPIRED_TERM" THEN before.currTerm ELSE -1
        answer  == ElectionResponse(n, m.src, "HEARTBEAT", term, code)
    IN  [node |-> decided.node, out |-> IF m.awaited THEN Append(decided.out, answer) ELSE decided.out]

-----------------------------------------------------------------------------
(* The round.                                                              *)

\* The node is in a later term than its round.
Outdated(state) == state.election.round.term # state.currTerm

\* Its own answer, too, may carry a term that it entered meanwhile.
\* Source: DLedgerLeaderElector.voteForQuorumResponses, handleVote with self.
EagerHandleOwnVote(n) ==
    LET round  == node[n].election.round
        asking == [VoteRequest(n, n, node[n]) EXCEPT !.term = round.term]
        voted  == VoteHandled(n, node[n], asking, TRUE)
    IN  /\ node[n].role # "DOWN"
        /\ round.type = "VOTE"
        /\ round.answers[n] = "NONE"
        /\ Step(n, Counted(voted.node, n, voted.code,
                           IF voted.code \in CarriesTerm THEN Max({round.maxTerm, node[n].currTerm})
                           ELSE round.maxTerm))

\* changeRoleToLeader: only in the term of the round.
MayLead(state)       == ~Outdated(state)
MayAlwaysLead(state) == TRUE

\* changeRoleToCandidate: not for a term that the node has left behind.  It may be in that term by now, and
\* follow its leader; without #332 it never is.
MayStand(state)              == state.election.round.maxTerm >= state.currTerm
MayStandInLaterTermOnly(state) == state.election.round.maxTerm > state.currTerm

\* A follower keeps no conclusion: changeRoleToCandidate drops it.
EagerVotesParsed(n, before, outcome) ==
    LET next     == ParseResult(outcome) = "WAIT_TO_VOTE_NEXT"
        idle     == [before EXCEPT !.election.round = NoRound,
                                   !.election.voteNext = IF Outdated(before) THEN FALSE ELSE next]
        asksNext == [idle EXCEPT !.election.voteNext = TRUE]
    IN  CASE outcome = "HIGHER_TERM" /\ MayStand(before) ->
                ToCandidate(n, asksNext, before.election.round.maxTerm)
          [] outcome = "ACCEPTED" /\ MayLead(before) -> ToLeader(n, idle)
          [] OTHER -> Quietly(idle)

\* Source: DLedgerLeaderElector.maintainAsCandidate, from PARSE_VOTE_RESULT on.
EagerParseVoteResponses(n) ==
    LET round   == node[n].election.round
        outcome == VoteOutcome(round.term, round.maxTerm, round.answers)
        leads   == outcome = "ACCEPTED" /\ MayLead(node[n])
    IN  /\ round.type = "VOTE"
        /\ round.answers[n] # "NONE"
        /\ Conclude(n, "VOTE", VotesParsed(n, node[n], outcome))
        /\ elected' = IF leads THEN elected \cup {[term |-> node[n].currTerm, leader |-> n]} ELSE elected

EagerFoundByBeating(state) ==
    LET round == state.election.round
    IN  IF ~HighTermLaggard /\ round.maxTerm > round.term THEN "HIGHER_TERM"
        ELSE HeartBeatOutcome(round.term, round.maxTerm, round.answers)

EagerHeartBeatsParsed(n, before, outcome, expired) ==
    LET idle == [before EXCEPT !.election.round = NoRound]
    IN  CASE outcome = "HIGHER_TERM" /\ MayStand(before) ->
                ToCandidate(n, idle, before.election.round.maxTerm)
          [] (outcome = "INCONSISTENT_LEADER" \/ expired) /\ ~Outdated(before) ->
                ToCandidate(n, idle, before.currTerm)
          [] OTHER -> Quietly(idle)

-----------------------------------------------------------------------------
(* What holds, and what is reached.                                        *)

\* INV LeaderIsElected: a node that leads or has a leader is in a term that had that leader.
LeaderIsElected ==
    \A n \in Node : LET leader == node[n].leaderId IN
       /\ node[n].role = "LEADER" => leader = n
       /\ leader # NoNode => [term |-> node[n].currTerm, leader |-> leader] \in elected

\* WITNESS the term of a candidate is raised while it waits for votes, and of a leader while it beats.
NeverOutdated(type) == \A n \in Node : node[n].election.round.type = type => ~Outdated(node[n])
NeverOutdatedVotes  == NeverOutdated("VOTE")
NeverOutdatedBeats  == NeverOutdated("HEARTBEAT")

\* WITNESS a candidate has the votes of a quorum in a term that it has left.
NeverWinsThePast ==
    \A n \in Node : LET round == node[n].election.round IN
       round.type = "VOTE" /\ Outdated(node[n])
         => VoteOutcome(round.term, round.maxTerm, round.answers) # "ACCEPTED"

=============================================================================
