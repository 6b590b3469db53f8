-------------------------- MODULE MessageElections --------------------------
(***************************************************************************)
(* Elections message by message (VoteMessages).                            *)
(***************************************************************************)
EXTENDS RoleElections

\* DLedgerConfig: how far behind a transferee may be.  This is the default.
MaxLeadershipTransferWaitIndex == 1000

\* TakeLeadershipTask.check: a change of role may tell the old leader what became of its transfer.
RoleChanged(n, s, term) ==
    LET toTake == s.election.termToTakeLeadership
        code   == TakeLeadershipCode(toTake, term, s.role)
    IN  IF code = "NONE" THEN [node |-> s, out |-> << >>]
        ELSE [node |-> [s EXCEPT !.election.termToTakeLeadership = -1,
                                 !.election.takesFrom = NoNode],
              out |-> <<ElectionResponse(n, s.election.takesFrom, "TRANSFER", toTake - 1, code)>>]

\* changeRoleToCandidate: the term is known from now on, and entered later.
ToCandidate(n, s, term) ==
    RoleChanged(n, [s EXCEPT !.role = "CANDIDATE", !.leaderId = NoNode,
                             !.election.knownMaxTerm = IF term > s.currTerm THEN Max({@, term})
                                                       ELSE @,
                             !.election.transferee = NoNode], term)

\* As above, by a message of a higher term: the StateMaintainer shall raise the term at once.
ToHigherTerm(n, s, term) == ToCandidate(n, [s EXCEPT !.election.needIncrease = TRUE], term)

\* changeRoleToFollower
ToFollower(n, s, leader) ==
    RoleChanged(n, [s EXCEPT !.role = "FOLLOWER", !.leaderId = leader,
                             !.election.voteNext = FALSE,
                             !.election.transferee = NoNode], s.currTerm)

\* changeRoleToLeader
ToLeader(n, s) == RoleChanged(n, [s EXCEPT !.role = "LEADER", !.leaderId = n], s.currTerm)

\* MemberState.nextTerm: to the highest term heard of, or else to the next.
Raised(s) ==
    [InTerm(s, Max({s.currTerm + 1, s.election.knownMaxTerm}))
        EXCEPT !.election.needIncrease = FALSE, !.election.knownMaxTerm = -1,
               !.election.voteNext = FALSE]

\* The StateMaintainer of n is not waiting for answers.
Idle(n) == node[n].election.round.type = "NONE"

\* ACTION IncreaseTerm: a candidate that was told of a higher term goes there, and asks for no votes yet.
\* Source: DLedgerLeaderElector.maintainAsCandidate, with needIncreaseTermImmediately.
IncreaseTerm(n) ==
    /\ VoteMessages
    /\ MayElect(n)
    /\ Idle(n)
    /\ node[n].role = "CANDIDATE"
    /\ node[n].election.needIncrease
    /\ Step(n, Raised(node[n]))

\* ACTION VoteForQuorumResponses: a candidate asks all for their votes.  It raises its term before only
\* if the last round told it so; and so a node that comes back asks in the term it went down in.
\* Source: DLedgerLeaderElector.maintainAsCandidate, voteForQuorumResponses.
VoteForQuorumResponses(n) ==
    LET raises == node[n].election.voteNext
        s      == IF raises THEN Raised(node[n]) ELSE node[n]
        round  == [NoRound EXCEPT !.type = "VOTE", !.maxTerm = s.currTerm,
                                  !.ledgerEndTerm = s.ledgerEndTerm,
                                  !.ledgerEndIndex = EndIndex(s.log)]
        asking == [s EXCEPT !.election.round = round]
        To(p)  == VoteRequest(n, p, asking)
    IN  /\ VoteMessages
        /\ MayVote(n)
        /\ raises => MayElect(n)
        /\ Idle(n)
        /\ node[n].role = "CANDIDATE"
        /\ ~node[n].election.needIncrease
        /\ node' = [node EXCEPT ![n] = asking]
        /\ network' = SentToPeers(network, n, To)
        /\ UNCHANGED <<received, history>>

\* handleVote.  Only a vote for its own term changes the voter's vote; only a higher term its role.
VoteHandled(n, s, m, self) ==
    LET code   == VoteCode(Member(n, s), m, Node, self)
        term   == IF code = "REJECT_TERM_SMALL_THAN_LEDGER" THEN s.ledgerEndTerm ELSE s.currTerm
        after  == CASE code = "ACCEPT" -> [node |-> [s EXCEPT !.currVoteFor = m.src], out |-> << >>]
                    [] code = "REJECT_TERM_NOT_READY" -> ToHigherTerm(n, s, m.term)
                    [] OTHER -> [node |-> s, out |-> << >>]
        answer == ElectionResponse(n, m.src, "VOTE", term, code)
    IN  [node |-> after.node, code |-> code,
         out |-> IF m.awaited /\ ~self THEN Append(after.out, answer) ELSE after.out]

\* ACTION HandleVote: a member decides on a candidate's request, and tells it why.
\* Source: DLedgerLeaderElector.handleVote.
HandleVote(n) ==
    \E m \in Mail(n) :
    /\ node[n].role # "DOWN"
    /\ IsRequest(m, "VOTE")
    /\ Hear(n, m, VoteHandled(n, node[n], m, FALSE))

\* An answer to a round is in.
Counted(s, peer, code, maxTerm) ==
    [s EXCEPT !.election.round.answers[peer] = code, !.election.round.maxTerm = maxTerm]

\* ACTION HandleOwnVote: a candidate asks itself, by the same rules.  Another may have been quicker.
\* Source: DLedgerLeaderElector.voteForQuorumResponses, handleVote with self.
HandleOwnVote(n) ==
    LET s     == node[n]
        round == s.election.round
        voted == VoteHandled(n, s, VoteRequest(n, n, s), TRUE)
    IN  /\ s.role # "DOWN"
        /\ round.type = "VOTE"
        /\ round.answers[n] = "NONE"
        /\ Step(n, Counted(voted.node, n, voted.code, round.maxTerm))

\* n takes the answer m to its round; another copy of the request, or of the answer, counts no more.
CountAnswer(n, m, type, maxTerm) ==
    LET Gone(x) == x.type = type
    IN  /\ node[n].election.round.type = type
        /\ node' = [node EXCEPT ![n] = Counted(@, m.src, m.code, maxTerm)]
        /\ network' = Abandon(Heard(network, m), n, m.src, Gone)
        /\ UNCHANGED <<received, history>>

\* ACTION HandleVoteResponse: a candidate hears how a member decided.
\* Source: DLedgerLeaderElector.maintainAsCandidate, where the answers are counted.
HandleVoteResponse(n) ==
    \E m \in Mail(n) :
    LET known == node[n].election.round.maxTerm IN
    /\ IsResponse(m, "VOTE")
    /\ CountAnswer(n, m, "VOTE", IF m.code \in TellsTerm THEN Max({known, m.term}) ELSE known)

\* ACTION ParseVoteResponses: a candidate draws its conclusion from the answers that are in.
\* Source: DLedgerLeaderElector.maintainAsCandidate, from PARSE_VOTE_RESULT on.
ParseVoteResponses(n) ==
    LET round   == node[n].election.round
        term    == node[n].currTerm
        outcome == VoteOutcome(term, round.maxTerm, round.answers)
        s       == [node[n] EXCEPT !.election.round = NoRound,
                                   !.election.voteNext =
                                       ParseResult(outcome) = "WAIT_TO_VOTE_NEXT"]
        after   == CASE outcome = "HIGHER_TERM" -> ToCandidate(n, s, round.maxTerm)
                     [] outcome = "ACCEPTED" -> ToLeader(n, s)
                     [] OTHER -> [node |-> s, out |-> << >>]
    IN  /\ round.type = "VOTE"
        /\ round.answers[n] # "NONE"
        /\ node' = [node EXCEPT ![n] = after.node]
        /\ network' = SentAll(RoundOver(network, n, "VOTE"), after.out)
        /\ elected' = IF outcome = "ACCEPTED" THEN elected \cup {[term |-> term, leader |-> n]}
                      ELSE elected
        /\ UNCHANGED <<received, committed, acknowledged>>

\* ACTION SendHeartbeats: a leader tells all that it leads.
\* Source: DLedgerLeaderElector.maintainAsLeader, sendHeartbeats.
SendHeartbeats(n) ==
    LET beating == [node[n] EXCEPT !.election.round = [NoRound EXCEPT !.type = "HEARTBEAT",
                                                                      !.answers[n] = "SUCCESS"]]
        To(p)   == HeartBeatRequest(n, p, beating)
    IN  /\ VoteMessages
        /\ MayBeat(n)
        /\ Idle(n)
        /\ node[n].role = "LEADER"
        /\ node' = [node EXCEPT ![n] = beating]
        /\ network' = SentToPeers(network, n, To)
        /\ UNCHANGED <<received, history>>

\* handleHeartBeat.  Who leads its term is followed by a member that knows no leader.
HeartBeatHandled(n, s, m) ==
    LET code   == HeartBeatCode(Member(n, s), m, Node)
        after  == CASE code = "TERM_NOT_READY" -> ToHigherTerm(n, s, m.term)
                    [] code = "SUCCESS" /\ s.leaderId = NoNode -> ToFollower(n, s, m.src)
                    [] OTHER -> [node |-> s, out |-> << >>]
        term   == IF code = "EXPIRED_TERM" THEN s.currTerm ELSE -1
        answer == ElectionResponse(n, m.src, "HEARTBEAT", term, code)
    IN  [node |-> after.node, out |-> IF m.awaited THEN Append(after.out, answer) ELSE after.out]

\* ACTION HandleHeartBeat: a member hears from a leader; it may be late, and its sender lead no more.
\* Source: DLedgerLeaderElector.handleHeartBeat.
HandleHeartBeat(n) ==
    \E m \in Mail(n) :
    /\ node[n].role # "DOWN"
    /\ IsRequest(m, "HEARTBEAT")
    /\ Hear(n, m, HeartBeatHandled(n, node[n], m))

\* ACTION HandleHeartBeatResponse: a leader hears who is with it.  Of several terms the last one counts.
\* Source: DLedgerLeaderElector.sendHeartbeats, where the answers are counted.
HandleHeartBeatResponse(n) ==
    \E m \in Mail(n) :
    /\ IsResponse(m, "HEARTBEAT")
    /\ CountAnswer(n, m, "HEARTBEAT",
                   IF m.code = "EXPIRED_TERM" THEN m.term ELSE node[n].election.round.maxTerm)

\* ACTION ParseHeartBeatResponses: a leader draws its conclusion.  expired: it has had no quorum for so
\* long (three periods, or ever since it leads) that it leads no more.
\* Source: DLedgerLeaderElector.sendHeartbeats, from the wait on.
ParseHeartBeatResponses(n) ==
    \E expired \in BOOLEAN :
    LET round   == node[n].election.round
        term    == node[n].currTerm
        outcome == HeartBeatOutcome(term, round.maxTerm, round.answers)
        s       == [node[n] EXCEPT !.election.round = NoRound]
        after   == CASE outcome = "HIGHER_TERM" -> ToCandidate(n, s, round.maxTerm)
                     [] outcome = "INCONSISTENT_LEADER" \/ expired -> ToCandidate(n, s, term)
                     [] OTHER -> [node |-> s, out |-> << >>]
    IN  /\ round.type = "HEARTBEAT"
        /\ expired => outcome = "NO_QUORUM" /\ StepDowns
        /\ node' = [node EXCEPT ![n] = after.node]
        /\ network' = SentAll(RoundOver(network, n, "HEARTBEAT"), after.out)
        /\ UNCHANGED <<received, history>>

\* ACTION HeartBeatTimeOut: a follower has heard of no leader for too long.
\* Source: DLedgerLeaderElector.maintainAsFollower.
HeartBeatTimeOut(n) ==
    LET after == ToCandidate(n, node[n], node[n].currTerm) IN
    /\ VoteMessages
    /\ StepDowns
    /\ Idle(n)
    /\ node[n].role = "FOLLOWER"
    /\ node' = [node EXCEPT ![n] = after.node]
    /\ network' = SentAll(network, after.out)
    /\ UNCHANGED <<received, history>>

=============================================================================
