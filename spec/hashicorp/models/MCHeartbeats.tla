---------------------------- MODULE MCHeartbeats ----------------------------
(***************************************************************************)
(* Heartbeats beside the main loop (HeartbeatRace), and two repairs.  The  *)
(* reader learns at which lines of the main loop such a heartbeat does     *)
(* harm, and which of them a repair must look at.                          *)
(*                                                                         *)
(* The library reads its role where a loop begins anew, and its term, but  *)
(* for pre-votes, where it uses it; so what the main loop does after a     *)
(* heartbeat it does in the term of that heartbeat, which another server   *)
(* leads.  Once dispatchLogs has read the term, a heartbeat changes        *)
(* nothing: the entry is the one that the leader would have stored before. *)
(*                                                                         *)
(* In nearly all models Ahead is at home in term 3, and Behind leads term  *)
(* 4 with the vote of Third.  Nobody campaigns, and nothing fails.  In the *)
(* others Third campaigns while Ahead leads (KnownLeaderIsOfTerm).         *)
(***************************************************************************)
EXTENDS MCFlaws

LatestLeader == {Leadership(Ahead, 3), Leadership(Behind, 4)}

BehindLeads(ahead, entries) ==
    [n \in Node |-> CASE n = Ahead  -> ahead
                      [] n = Third  -> HasVoted(Up(4, entries), 4, Behind)
                      [] n = Behind -> LeaderOf(n, 4, entries)]

\* Ahead leads, and a client asks it for something: leaderLoop.
OvertakenLeaderInit == Begins(BehindLeads(LeaderOf(Ahead, 3, << >>), << >>), LatestLeader, << >>)

\* Ahead has won, and does not lead yet: run, runLeader.
OvertakenWinnerInit ==
    Begins(BehindLeads(Wins(Ahead, HasVoted(Up(3, <<Noop(2)>>), 3, Ahead)), << >>), LatestLeader, << >>)

\* Ahead counts votes, and the one of Third, from before it voted for Behind, is under way: runCandidate.
OvertakenCandidateInit ==
    LET asked == Candidate(HasVoted(Up(3, << >>), 3, Ahead), FALSE)
        ahead == [asked EXCEPT !.loop = "SELECT", !.campaign.phase = "VOTE", !.campaign.granted = {Ahead}]
        vote  == VoteResponse(RequestVoteRequest(Ahead, Third, ahead), 3, TRUE)
    IN  /\ node = BehindLeads(ahead, << >>)
        /\ network = SentEach([n \in Node |-> [p \in Peers(n) |-> EmptyChannel]], Third, vote)
        /\ elected = {Leadership(Behind, 4)}
        /\ committed = {}
        /\ verified = {}

OvertakenLeadersInit == OvertakenLeaderInit \/ OvertakenWinnerInit

\* The leader that a server knows has won the term in which the server is.
KnownLeaderIsOfTerm ==
    \A n \in Node : node[n].leader # NoNode => Leadership(node[n].leader, node[n].currentTerm) \in elected

\* A client asks each of the two leaders once.
EachDispatchesOnce(n) == n \in {Ahead, Behind} /\ MCMayDispatch(n)

-----------------------------------------------------------------------------
(* The guard of hashicorp/raft#701: dispatchLogs stores nothing where the  *)
(* server does not lead, or the term is not the one it began with.  The    *)
(* routines for the peers run by then, and the main loop may take its time *)
(* (StartReplication).                                                     *)

GuardedDispatches(n) == node[n].role = "Leader" /\ EachDispatchesOnce(n)

RoutinesRun(state) == \E p \in Node : state.replication[p].running

GuardedLeads(n, before) ==
    IF before.role = "Leader" THEN DispatchesNoop(n, before)
    ELSE Quietly([Stopped(IF RoutinesRun(before) THEN before ELSE SetUp(n, before)) EXCEPT !.loop = "SELECT"])

\* The calls of these routines are given up with them.
GivenUpByGuard(before, after) ==
    GivenUpWith(before, after, /\ IsInLeaderLoop(before) \/ RoutinesRun(before)
                               /\ ~IsInLeaderLoop(after) /\ ~RoutinesRun(after))

StartReplication(n) ==
    /\ Runs(n) /\ node[n].loop = "LEAD" /\ node[n].role # "Leader" /\ ~RoutinesRun(node[n])
    /\ Step(n, [SetUp(n, node[n]) EXCEPT !.loop = "LEAD"])

GuardedNext == Next \/ \E n \in Node : StartReplication(n)

-----------------------------------------------------------------------------
(* A repair that holds here: a server that does not lead any more starts   *)
(* no routine either, and a vote counts only in the term that it is for.   *)
(* It looks, and acts, in one step: what the library needs a lock for.     *)

RepairedLeads(n, before) ==
    IF before.role = "Leader" THEN DispatchesNoop(n, before) ELSE Quietly([before EXCEPT !.loop = "SELECT"])

RepairedVoteCounted(n, before, counted) ==
    IF before.loop = "OVERTAKEN" THEN Noticed(before)
    ELSE IF HasWon(counted) THEN Wins(n, counted) ELSE counted

=============================================================================
