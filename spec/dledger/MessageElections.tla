-------------------------- MODULE MessageElections --------------------------
(***************************************************************************)
(* Elections message by message (VoteMessages).  The reader learns how a   *)
(* candidate asks for votes, when a term is raised, and when a leader is   *)
(* deposed, by the rules of ElectionRules.                                 *)
(* One thread of a node, the StateMaintainer, acts for the role that the   *)
(* node has.  A candidate sends a round of vote requests, a leader a round *)
(* of heartbeats.  Then it waits for answers, and draws its conclusion.    *)
(* Time is not modelled, so it may draw it at any moment, with the answers *)
(* that were delivered by then.  It alone raises the term, so a round ends *)
(* in the term in which it began.  Meanwhile the node answers the requests *)
(* of others.                                                              *)
(***************************************************************************)
EXTENDS RoleElections

-----------------------------------------------------------------------------
(* Changes of role.  A transferee, which is to take over the leadership    *)
(* (see Transfer), answers the old leader when its role changes: so a      *)
(* change of role may send a message.                                      *)

\* TakeLeadershipTask.check: n has just taken the role that `before` has, in this term or because of it.
RoleChanged(n, before, term) ==
    LET toTake == before.election.termToTakeLeadership
        code   == TakeLeadershipCode(toTake, term, before.role)
        answer == ElectionResponse(n, before.election.takesFrom, "TRANSFER", toTake - 1, code)
    IN  IF code = "NONE" THEN Quietly(before)
        ELSE [node |-> [before EXCEPT !.election.termToTakeLeadership = -1,
                                      !.election.takesFrom = NoNode],
              out |-> <<answer>>]

\* changeRoleToCandidate: a higher term is known from now on, and entered later.
ToCandidate(n, before, term) ==
    RoleChanged(n, [before EXCEPT !.role = "CANDIDATE", !.leaderId = NoNode,
                                  !.election.knownMaxTerm = IF term > before.currTerm THEN Max({@, term})
                                                            ELSE @,
                                  !.election.transferee = NoNode], term)

\* As above, because of a message of a higher term: the StateMaintainer shall raise the term at once.
ToHigherTerm(n, before, term) == ToCandidate(n, [before EXCEPT !.election.needIncrease = TRUE], term)

\* changeRoleToFollower
ToFollower(n, before, leader) ==
    RoleChanged(n, [before EXCEPT !.role = "FOLLOWER", !.leaderId = leader,
                                  !.election.voteNext = FALSE,
                                  !.election.transferee = NoNode], before.currTerm)

\* changeRoleToLeader
ToLeader(n, before) == RoleChanged(n, [before EXCEPT !.role = "LEADER", !.leaderId = n], before.currTerm)

\* MemberState.nextTerm: to the highest term the node knows of, or else to the next.
Raised(before) ==
    [InTerm(before, Max({before.currTerm + 1, before.election.knownMaxTerm}))
        EXCEPT !.election.needIncrease = FALSE, !.election.knownMaxTerm = -1,
               !.election.voteNext = FALSE]

-----------------------------------------------------------------------------
(* Rounds.                                                                 *)

\* The StateMaintainer of n does not wait for answers.
Idle(n) == node[n].election.round.type = "NONE"

\* The node has an answer to its round; of each member one counts.
Counted(before, member, code, maxTerm) ==
    [before EXCEPT !.election.round.answers[member] = code, !.election.round.maxTerm = maxTerm]

\* n hears the answer m to its round.  Other copies of the request, or of the answer, count no more.
CountAnswer(n, m, type, maxTerm) ==
    LET Gone(x) == x.type = type
    IN  /\ node[n].election.round.type = type
        /\ node' = [node EXCEPT ![n] = Counted(@, m.src, m.code, maxTerm)]
        /\ network' = Abandoned(ReceivedInLane(network, m, IsElection), n, m.src, Gone)
        /\ UNCHANGED <<received, elected, history>>

\* n ends its round: it takes no more answers to it, from no one.
Conclude(n, type, handled) ==
    LET Gone(x) == x.type = type
    IN  /\ node' = [node EXCEPT ![n] = handled.node]
        /\ network' = SentAll(AllAbandoned(network, n, Gone), handled.out)
        /\ UNCHANGED <<received, history>>

-----------------------------------------------------------------------------
(* Votes.                                                                  *)

\* ACTION IncreaseTerm: a candidate that heard of a higher term goes there, and asks for no votes yet.
\* Source: DLedgerLeaderElector.maintainAsCandidate, with needIncreaseTermImmediately.
IncreaseTerm(n) ==
    /\ VoteMessages
    /\ MayElect(n)
    /\ Idle(n)
    /\ node[n].role = "CANDIDATE"
    /\ node[n].election.needIncrease
    /\ Step(n, Raised(node[n]))

RaisesTerm(state) == state.election.voteNext

RoundOfVotes(before) ==
    LET asking == IF RaisesTerm(before) THEN Raised(before) ELSE before
        round  == [NoRound EXCEPT !.type = "VOTE", !.maxTerm = asking.currTerm,
                                  !.ledgerEndTerm = asking.ledgerEndTerm,
                                  !.ledgerEndIndex = EndIndex(asking.log)]
    IN  [asking EXCEPT !.election.round = round]

\* ACTION VoteForQuorumResponses: a candidate asks all for their votes.  It raises its term before only
\* if that follows from the last round; and so a node that comes back asks in the term it went down in.
\* Source: DLedgerLeaderElector.maintainAsCandidate, voteForQuorumResponses.
VoteForQuorumResponses(n) ==
    LET after == RoundOfVotes(node[n])
        To(p) == VoteRequest(n, p, after)
    IN  /\ VoteMessages
        /\ MayVote(n)
        /\ RaisesTerm(node[n]) => MayElect(n)
        /\ Idle(n)
        /\ node[n].role = "CANDIDATE"
        /\ ~node[n].election.needIncrease
        /\ ActOnAll(n, after, To)

\* handleVote.  Only an ACCEPT changes the voter's vote; only a request of a higher term its role.
VoteHandled(n, before, m, self) ==
    LET code    == VoteCode(Member(n, before), m, Node, self)
        term    == IF code = "REJECT_TERM_SMALL_THAN_LEDGER" THEN before.ledgerEndTerm
                   ELSE before.currTerm
        decided == CASE code = "ACCEPT" -> Quietly([before EXCEPT !.currVoteFor = m.src])
                     [] code = "REJECT_TERM_NOT_READY" -> ToHigherTerm(n, before, m.term)
                     [] OTHER -> Quietly(before)
        answer  == ElectionResponse(n, m.src, "VOTE", term, code)
    IN  [node |-> decided.node, code |-> code,
         out |-> IF m.awaited /\ ~self THEN Append(decided.out, answer) ELSE decided.out]

\* ACTION HandleVote: a member decides on a candidate's request, and answers why.
\* Source: DLedgerLeaderElector.handleVote.
HandleVote(n) ==
    \E m \in Mail(n) :
    /\ node[n].role # "DOWN"
    /\ IsRequest(m, "VOTE")
    /\ Hear(n, m, VoteHandled(n, node[n], m, FALSE))

\* ACTION HandleOwnVote: a candidate asks itself, by the same rules.  Another may have been quicker.
\* Source: DLedgerLeaderElector.voteForQuorumResponses, handleVote with self.
HandleOwnVote(n) ==
    LET round == node[n].election.round
        voted == VoteHandled(n, node[n], VoteRequest(n, n, node[n]), TRUE)
    IN  /\ node[n].role # "DOWN"
        /\ round.type = "VOTE"
        /\ round.answers[n] = "NONE"
        /\ Step(n, Counted(voted.node, n, voted.code, round.maxTerm))

\* ACTION HandleVoteResponse: a candidate hears how a member decided.
\* Source: DLedgerLeaderElector.maintainAsCandidate, where the answers are counted.
HandleVoteResponse(n) ==
    \E m \in Mail(n) :
    LET known == node[n].election.round.maxTerm IN
    /\ IsResponse(m, "VOTE")
    /\ CountAnswer(n, m, "VOTE", IF m.code \in CarriesTerm THEN Max({known, m.term}) ELSE known)

VotesParsed(n, before, outcome) ==
    LET idle == [before EXCEPT !.election.round = NoRound,
                               !.election.voteNext = ParseResult(outcome) = "WAIT_TO_VOTE_NEXT"]
    IN  CASE outcome = "HIGHER_TERM" -> ToCandidate(n, idle, before.election.round.maxTerm)
          [] outcome = "ACCEPTED" -> ToLeader(n, idle)
          [] OTHER -> Quietly(idle)

\* ACTION ParseVoteResponses: a candidate draws its conclusion from the answers that are in.
\* Source: DLedgerLeaderElector.maintainAsCandidate, from PARSE_VOTE_RESULT on.
ParseVoteResponses(n) ==
    LET round   == node[n].election.round
        term    == node[n].currTerm
        outcome == VoteOutcome(term, round.maxTerm, round.answers)
    IN  /\ round.type = "VOTE"
        /\ round.answers[n] # "NONE"
        /\ Conclude(n, "VOTE", VotesParsed(n, node[n], outcome))
        /\ elected' = IF outcome = "ACCEPTED" THEN elected \cup {[term |-> term, leader |-> n]}
                      ELSE elected

=============================================================================
