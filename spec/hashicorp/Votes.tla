------------------------------- MODULE Votes --------------------------------
(***************************************************************************)
(* The answer of a voter, and its effect at the candidate.  The reader     *)
(* learns what a voter writes before it answers, and when a candidate      *)
(* leads or gives up.                                                      *)
(***************************************************************************)
EXTENDS ElectionRules, Elections

-----------------------------------------------------------------------------
(* The voter.                                                              *)

\* A candidate that is not turned away at the first tests brings the voter to its term.
EntersTermOf(before, m) == VoteCode(before, m) \notin LeavesTerm /\ m.term > before.currentTerm

\* requestVote.  A voter answers after all its writes.  `leader` is whom it knows in a term that it enters.
VoteHandledWith(before, m, leader) ==
    LET code      == VoteCode(before, m)
        rises     == EntersTermOf(before, m)
        at        == IF rises THEN [FollowerIn(before, m.term) EXCEPT !.leader = leader] ELSE before
        Refuse(s) == Says(s, VoteResponse(m, at.currentTerm, FALSE))
    IN  [node   |-> IF code = "VOTES" THEN Voted(at, m.term, m.src) ELSE at,
         out    |-> VoteResponse(m, at.currentTerm, code \in Grants),
         writes |-> (IF rises THEN <<TermWrite(before, at)>> ELSE << >>)
                    \o (IF code = "VOTES" THEN VoteWrites(at, m.term, m.src, {}, Refuse) ELSE << >>)]

VoteHandled(before, m) == VoteHandledWith(before, m, NoNode)

\* ACTION RequestVote: n answers a candidate that asks for its vote.
\* Source: requestVote, persistVote.
RequestVote(n) ==
    \E m \in Inbox(n) : \E outcome \in AnyOutcome :
    LET handled == VoteHandled(node[n], m) IN
    /\ IsRequest(m, "RequestVote")
    /\ Selects(n)
    /\ outcome \in Outcomes(n, handled)
    /\ Handle(n, m, Outcome(handled, outcome))

\* ACTION RequestVoteAroundHeartbeat: n answers a candidate, and enters its term with the leader of the old
\* one.
\* A heartbeat of that leader is handled beside the main loop when this has forgotten the leader, and has not
\* stored the term yet.  Until the heartbeat timeout n turns other candidates away.
\* A process that dies among the writes forgets the leader, so RequestVote has the crashes.  No write fails.
\* Source: requestVote, between setState and setCurrentTerm; processHeartbeat (HeartbeatRace).
RequestVoteAroundHeartbeat(n) ==
    \E request \in Inbox(n) : \E heartbeat \in Inbox(n) :
    LET handled == VoteHandledWith(node[n], request, heartbeat.src)
        answer  == AppendEntriesResponse(heartbeat, node[n].currentTerm, 0, TRUE, FALSE)
    IN  /\ HeartbeatsRace
        /\ IsRequest(request, "RequestVote")
        /\ IsRequest(heartbeat, "Heartbeat")
        /\ Selects(n)
        /\ EntersTermOf(node[n], request)
        /\ heartbeat.term = node[n].currentTerm
        /\ HandleAround(n, request, handled, heartbeat, answer)

\* ACTION RequestPreVote: n answers a candidate whether it would vote for it.
\* Source: requestPreVote.  The answer has the candidate's term where that is higher, but for a refusal at the
\* first tests.
RequestPreVote(n) ==
    \E m \in Inbox(n) :
    LET code == PreVoteCode(node[n], m)
        term == IF code \in LeavesTerm THEN node[n].currentTerm ELSE m.term
    IN  /\ IsRequest(m, "RequestPreVote")
        /\ Selects(n)
        /\ Handle(n, m, Says(node[n], VoteResponse(m, term, code = "VOTES")))

-----------------------------------------------------------------------------
(* The candidate.                                                          *)

\* A candidate that hears of a higher term follows in it.
HigherTerm(before, term) ==
    LET after == FollowerIn(before, term)
    IN  [node |-> after, out |-> {}, writes |-> <<TermWrite(before, after)>>]

Granted(before, m) == IF m.granted THEN [before EXCEPT !.campaign.granted = @ \cup {m.src}] ELSE before

\* Only a higher term ends the count.  A candidate that a heartbeat beside the main loop has brought to a
\* later term takes the vote for its own all the same, and may win that term by it (HeartbeatRace).
VoteCounted(n, before, counted) ==
    IF HasWon(counted) THEN Wins(n, counted)
    ELSE IF before.loop = "OVERTAKEN" THEN Noticed(counted) ELSE counted

VoteAnswered(n, before, m) ==
    IF m.term > before.currentTerm THEN HigherTerm(before, m.term)
    ELSE Quietly(VoteCounted(n, before, Granted(before, m)))

\* ACTION HandleRequestVoteResponse: a candidate counts a vote, and leads if a majority voted for it.
\* Source: runCandidate, voteCh.
HandleRequestVoteResponse(n) ==
    \E m \in Inbox(n) : \E outcome \in AnyOutcome :
    LET handled == VoteAnswered(n, node[n], m) IN
    /\ IsResponse(m, "RequestVote")
    /\ Selects(n) \/ (Runs(n) /\ node[n].loop = "OVERTAKEN")
    /\ outcome \in Outcomes(n, handled)
    /\ TakeAnswer(n, m, Outcome(handled, outcome))

\* The term that was proposed is one higher than the candidate's own.  A candidate that a heartbeat has made
\* follow counts one more pre-vote, too, and may campaign by it (HeartbeatRace).  A refusal is left out there:
\* by one of a higher term than it proposed, the code goes to that term, even from a higher one.
PreVoteAnswered(before, m) ==
    LET counted == Granted(before, m)
    IN  IF m.term > before.currentTerm + 1 THEN HigherTerm(before, m.term)
        ELSE Quietly(IF HasWon(counted) THEN PreVoteWon(counted)
                     ELSE IF before.loop = "OVERTAKEN" THEN Noticed(counted) ELSE counted)

\* ACTION HandleRequestPreVoteResponse: a candidate counts a pre-vote, and campaigns if a majority would vote
\* for it.
\* Source: runCandidate, prevoteCh.
HandleRequestPreVoteResponse(n) ==
    \E m \in Inbox(n) : \E outcome \in AnyOutcome :
    LET handled == PreVoteAnswered(node[n], m) IN
    /\ IsResponse(m, "RequestPreVote")
    /\ Selects(n) \/ (Runs(n) /\ node[n].loop = "OVERTAKEN" /\ m.granted)
    /\ outcome \in Outcomes(n, handled)
    /\ TakeAnswer(n, m, Outcome(handled, outcome))

=============================================================================
