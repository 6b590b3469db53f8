----------------------------- MODULE Heartbeats -----------------------------
(***************************************************************************)
(* Heartbeats (VoteMessages).  The reader learns how a leader gets its     *)
(* followers, and how it loses its leadership.  Rounds are those of        *)
(* MessageElections.                                                       *)
(***************************************************************************)
EXTENDS MessageElections

\* ACTION SendHeartbeats: a leader sends all a heartbeat.
\* Source: DLedgerLeaderElector.maintainAsLeader, sendHeartbeats.
SendHeartbeats(n) ==
    LET after == [node[n] EXCEPT !.election.round = [NoRound EXCEPT !.type = "HEARTBEAT",
                                                                    !.answers[n] = "SUCCESS"]]
        To(p) == HeartBeatRequest(n, p, after)
    IN  /\ VoteMessages
        /\ MayBeat(n)
        /\ Idle(n)
        /\ node[n].role = "LEADER"
        /\ ActOnAll(n, after, To)

\* handleHeartBeat.  A member that knows no leader of its term follows the one it hears from.
HeartBeatHandled(n, before, m) ==
    LET code    == HeartBeatCode(Member(n, before), m, Node)
        decided == CASE code = "TERM_NOT_READY" -> ToHigherTerm(n, before, m.term)
                     [] code = "SUCCESS" /\ before.leaderId = NoNode -> ToFollower(n, before, m.src)
                     [] OTHER -> Quietly(before)
        term    == IF code = "EXPIRED_TERM" THEN before.currTerm ELSE -1
        answer  == ElectionResponse(n, m.src, "HEARTBEAT", term, code)
    IN  [node |-> decided.node, out |-> IF m.awaited THEN Append(decided.out, answer) ELSE decided.out]

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

HeartBeatsParsed(n, before, outcome, expired) ==
    LET idle == [before EXCEPT !.election.round = NoRound]
    IN  CASE outcome = "HIGHER_TERM" -> ToCandidate(n, idle, before.election.round.maxTerm)
          [] outcome = "INCONSISTENT_LEADER" \/ expired -> ToCandidate(n, idle, before.currTerm)
          [] OTHER -> Quietly(idle)

\* As published, a leader that has a quorum does not mind a higher term.  The member that is in it refuses its
\* heartbeats, and cannot be elected if its log is short; so it waits for ever.  Repaired, the leader goes to
\* that term, and whoever leads there leads that member, too.
FoundByBeating(state) ==
    LET round == state.election.round
    IN  IF ~HighTermLaggard /\ round.maxTerm > state.currTerm THEN "HIGHER_TERM"
        ELSE HeartBeatOutcome(state.currTerm, round.maxTerm, round.answers)

\* ACTION ParseHeartBeatResponses: a leader draws its conclusion.  expired: it has had no quorum for so
\* long (three periods, or ever since it leads) that it leads no more.
\* Source: DLedgerLeaderElector.sendHeartbeats, from the wait on.
ParseHeartBeatResponses(n) ==
    \E expired \in BOOLEAN :
    LET outcome == FoundByBeating(node[n])
    IN  /\ node[n].election.round.type = "HEARTBEAT"
        /\ expired => outcome = "NO_QUORUM" /\ StepDowns
        /\ Conclude(n, "HEARTBEAT", HeartBeatsParsed(n, node[n], outcome, expired))
        /\ UNCHANGED elected

\* ACTION HeartBeatTimeOut: a follower has heard of no leader for too long.
\* Source: DLedgerLeaderElector.maintainAsFollower.
HeartBeatTimeOut(n) ==
    /\ VoteMessages
    /\ StepDowns
    /\ Idle(n)
    /\ node[n].role = "FOLLOWER"
    /\ Act(n, ToCandidate(n, node[n], node[n].currTerm))

=============================================================================
