----------------------------- MODULE Elections ------------------------------
(***************************************************************************)
(* Candidates: how a server becomes one, asks for votes, and gives its     *)
(* own.  The reader learns when a term is raised, and when each part of a  *)
(* vote is durable.                                                        *)
(*                                                                         *)
(* A follower that hears nothing of a leader becomes a candidate.  It asks *)
(* the voters whether they would vote for it (PreVote), and if a majority  *)
(* would, raises its term and asks for their votes.  Each voter writes its *)
(* vote before it answers: first the term, then the candidate.             *)
(*                                                                         *)
(* A candidate does not ask in the step in which it becomes one: `loop`    *)
(* says that it will.  Until then its main loop takes no event.  A         *)
(* heartbeat beside the main loop may make it a follower meanwhile         *)
(* (HeartbeatRace): it asks all the same and takes no answer, or finds out *)
(* before it asks.  Where a heartbeat comes once it waits for answers, the *)
(* main loop takes one more event before it finds out (OVERTAKEN).         *)
(***************************************************************************)
EXTENDS Messages, Steps

-----------------------------------------------------------------------------
(* Becoming a candidate, and a leader.                                     *)

\* setState(Candidate), and what runCandidate will do.
Candidate(before, transfer) ==
    [Left(before) EXCEPT !.role = "Candidate", !.leader = NoNode, !.loop = "CAMPAIGN",
                         !.campaign = [NoCampaign EXCEPT !.transfer = transfer]]

\* setState(Leader), and setLeader.
Wins(n, before) == [before EXCEPT !.role = "Leader", !.leader = n, !.loop = "LEAD", !.campaign = NoCampaign]

-----------------------------------------------------------------------------
(* The timers, and a leader's choice.                                      *)

\* ACTION HeartbeatTimeout: a follower hears nothing of its leader, and forgets it; a voter campaigns.
\* Source: runFollower, heartbeatTimer.  A server with no vote, or no configuration, stays what it is.
HeartbeatTimeout(n) ==
    /\ Selects(n) /\ MayCampaign(n)
    /\ node[n].role = "Follower"
    /\ IF IsVoter(node[n], n) THEN Step(n, Candidate(node[n], FALSE))
       ELSE Step(n, [node[n] EXCEPT !.leader = NoNode])

\* ACTION ElectionTimeout: a candidate did not win in time, and begins anew.
\* Source: runCandidate, electionTimer.  That it was chosen by a leader counts once only.
ElectionTimeout(n) ==
    /\ Selects(n) /\ MayCampaign(n)
    /\ node[n].role = "Candidate"
    /\ Step(n, [node[n] EXCEPT !.loop = "CAMPAIGN", !.campaign = NoCampaign])

\* ACTION TimeoutNow: a leader has chosen n to take over: n campaigns at once.
\* Source: timeoutNow.  No term is compared.
TimeoutNow(n) ==
    \E m \in Inbox(n) :
    /\ IsRequest(m, "TimeoutNow")
    /\ Selects(n)
    /\ LET state == node[n]
           after == IF state.role # "Candidate" THEN Candidate(state, TRUE)
                    ELSE [state EXCEPT !.leader = NoNode, !.campaign.transfer = TRUE]
       IN  Handle(n, m, Says(after, TimeoutNowResponse(m)))

-----------------------------------------------------------------------------
(* Asking.                                                                 *)

HasWon(state) == IsQuorum(state.campaign.granted, state.configurations.latest.voters)

\* A pre-vote is won: electSelf follows at once, whatever a heartbeat beside it makes of the server meanwhile.
PreVoteWon(before) == [before EXCEPT !.loop = "CAMPAIGN", !.campaign.phase = "VOTE", !.campaign.granted = {}]

PreElected(n, before) ==
    LET asks == [before EXCEPT !.loop = "SELECT", !.campaign.phase = "PREVOTE",
                               !.campaign.granted = OwnVote(n, before)]
        out  == {RequestPreVoteRequest(n, p, asks) : p \in OtherVoters(n, asks)}
    IN  IF before.role # "Candidate" THEN Says([before EXCEPT !.loop = "SELECT"], Unawaited(out))
        ELSE IF HasWon(asks) THEN Quietly(PreVoteWon(asks))
        ELSE Says(asks, out)

\* ACTION PreElectSelf: a candidate asks the voters whether they would vote for it.
\* Source: preElectSelf.  It raises no term and writes nothing.  Its own answer it has at once.
PreElectSelf(n) ==
    /\ Runs(n) /\ node[n].loop = "CAMPAIGN"
    /\ PreVote /\ ~node[n].campaign.transfer /\ node[n].campaign.phase = "NONE"
    /\ Act(n, PreElected(n, node[n]))

\* ACTION RunFollower: the main loop was about to campaign, or to go on as a candidate or a leader, and finds
\* that the server follows.
\* Source: run, after runFollower, runCandidate and runLeader (HeartbeatRace).
RunFollower(n) ==
    /\ Runs(n) /\ node[n].role = "Follower"
    /\ node[n].loop = "OVERTAKEN" \/ (node[n].loop = "CAMPAIGN" /\ node[n].campaign.phase = "NONE")
    /\ Step(n, IF node[n].loop = "OVERTAKEN" THEN Noticed(node[n]) ELSE [node[n] EXCEPT !.loop = "SELECT"])

-----------------------------------------------------------------------------
(* The vote on disk.                                                       *)

Voted(before, term, candidate) == [before EXCEPT !.lastVoteTerm = term, !.lastVoteCand = candidate]

\* persistVote: LastVoteTerm, then LastVoteCand; `sent` was sent before.  If one of them cannot be written,
\* the server does what Failed says, from what it is then.
\* Example: the record (3, a) becomes (4, a), and then (4, b).  A crash between the two leaves a vote for a in
\* term 4, which nobody has given.  Should a ask for it, it is granted, and the logs are not compared.
VoteWrites(before, term, candidate, sent, Failed(_)) ==
    LET first     == [before EXCEPT !.lastVoteTerm = term]
        second    == Voted(before, term, candidate)
        To(after, from) == [Write(after, Failed(from)) EXCEPT !.sent = sent]
    IN  IF WritesVoteInTwo THEN <<To(first, before), To(second, first)>> ELSE <<To(second, before)>>

-----------------------------------------------------------------------------
(* The election.                                                           *)

\* electSelf: the term, the own vote, and the requests to the peers `asked`.  If the vote cannot be written,
\* the candidate takes no answers: it waits for its timer.  A server without a vote asks all the same.
Elects(n, before, asked) ==
    LET raised    == [before EXCEPT !.loop = "SELECT", !.currentTerm = @ + 1, !.campaign.phase = "VOTE",
                                    !.campaign.granted = OwnVote(n, before)]
        term      == raised.currentTerm
        voted     == IF IsVoter(before, n) THEN Voted(raised, term, n) ELSE raised
        out       == {RequestVoteRequest(n, p, raised) : p \in asked}
        Waits(at) == Says([at EXCEPT !.campaign.phase = "NONE", !.campaign.granted = {}], Unawaited(out))
        own       == IF ~IsVoter(before, n) THEN << >>
                     ELSE VoteWrites(raised, term, n, Unawaited(out), Waits)
        done      == IF before.role # "Candidate" THEN Waits(voted)
                     ELSE Says(IF HasWon(voted) THEN Wins(n, voted) ELSE voted, out)
    IN  [node   |-> done.node,
         out    |-> done.out,
         writes |-> <<TermWrite(before, raised)>> \o own]

\* The peers that may have been asked.  The servers are gone through in the order of the configuration, which
\* the spec does not know; before its own vote is written, a candidate has asked those listed before it.
MayHaveAsked(n, outcome) ==
    CASE outcome = Done      -> {OtherVoters(n, node[n])}
      [] outcome.write = 1   -> {{}}
      [] outcome.write \in 2..3 -> SUBSET OtherVoters(n, node[n])

\* ACTION ElectSelf: a candidate raises its term, votes for itself, and asks the voters for their votes.
\* Source: electSelf.  asked: the peers that are asked; where all is done, every other voter.
ElectSelf(n) ==
    \E asked \in SUBSET OtherVoters(n, node[n]) : \E outcome \in AnyOutcome :
    /\ outcome \in Outcomes(n, Elects(n, node[n], asked))
    /\ asked \in MayHaveAsked(n, outcome)
    /\ Runs(n) /\ node[n].loop = "CAMPAIGN"
    /\ ~PreVote \/ node[n].campaign.transfer \/ node[n].campaign.phase = "VOTE"
    /\ Act(n, Outcome(Elects(n, node[n], asked), outcome))

=============================================================================
