---------------------------- MODULE MCWitnesses -----------------------------
(***************************************************************************)
(* Witnesses of what the models reach.  Each name below says that          *)
(* something never happens, and TLC must violate it: without that, a model *)
(* could be green because nothing happens in it.                           *)
(***************************************************************************)
EXTENDS MCFlaws

-----------------------------------------------------------------------------
(* Elections.                                                              *)

NoLeader          == \A n \in Node : node[n].role # "Leader"
NoLeaderOfTwo     == \A n \in Node : node[n].role = "Leader" => node[n].currentTerm < 3
NobodyFollowsAgain == \A n \in Node : node[n].loop = "CAMPAIGN" => node[n].role = "Candidate"
NobodyCampaignsAsFollower ==
    \A n \in Node : node[n].loop = "CAMPAIGN" /\ node[n].campaign.phase = "VOTE" => node[n].role # "Follower"
NoPreVoteWon      == \A n \in Node : ~(node[n].loop = "CAMPAIGN" /\ node[n].campaign.phase = "VOTE")
Finds(code)       == \E n \in Node : \E m \in Inbox(n) :
                        IsRequest(m, "RequestVote") /\ Selects(n) /\ VoteCode(node[n], m) = code
NobodyIsRefusedForALeader == ~Finds("HAS_LEADER")
NobodyIsRefusedForALog    == ~Finds("BETTER_LOG")
NobodyVotedBefore         == ~Finds("VOTED")
NobodyVotesAgain          == ~Finds("VOTED_FOR_IT")
NobodyVotesForAnUnknown   == \A n \in Node : \A m \in Inbox(n) :
                                IsRequest(m, "RequestVote") /\ VoteCode(node[n], m) = "VOTES"
                                   => m.src \in node[n].configurations.latest.voters

\* A vote is left torn, and its server is up again.
NoTornVote == \A n \in Node : node[n].lastVoteTerm = 4 => node[n].lastVoteCand # Behind \/ n = Behind

-----------------------------------------------------------------------------
(* Logs.                                                                   *)

NothingCommitted   == \A c \in committed : c.index < 2
FollowerNeverApplies == \A n \in Node : node[n].role = "Follower" => node[n].fsm.applied = << >>
NothingDeletedProp ==
    [][\A n \in Node : node[n].role # "Shutdown" => DOMAIN node[n].log \subseteq DOMAIN node'[n].log]_vars
NobodyBacksOff     == \A n \in Node : \A m \in Inbox(n) : IsResponse(m, "AppendEntries") => m.success
NoStaleEnd         == \A n \in Node :
                         node[n].role # "Shutdown" => node[n].lastLog.index <= EndOf(node[n].log).index
NobodyForgetsMembers == \A n \in Voters : node[n].role # "Shutdown" => node[n].configurations.latestIndex > 0
NoTwoInFlight      == \A n, p \in Node : Len(RunnerFor(n, p).inFlight) < 2
NoPipelineRefused  == \A n \in Node : \A m \in Inbox(n) :
                         IsResponse(m, "AppendEntries") /\ RunnerFor(n, m.src).pipeline = "OPEN" => m.success
NoPipelineAbortsProp ==
    [][\A n, p \in Node : node'[n].role = "Leader" /\ RunnerFor(n, p).pipeline = "OPEN"
                              /\ RunnerFor(n, p).inFlight = << >>
                              => node'[n].replication[p].pipeline = "OPEN"]_vars
NoZombieSends      == \A n \in Node : \A m \in Inbox(n) :
                         IsRequest(m, "AppendEntries") => node[m.src].currentTerm = m.term
NobodyStepsDown    == \A n \in Node : ~node[n].leaderState.stepDown
NothingInQueue     == \A n \in Node : node[n].fsmQueue = << >>

-----------------------------------------------------------------------------
(* Snapshots.                                                              *)

NoSnapshotSent     == \A n \in Node : \A m \in Inbox(n) : m.type # "InstallSnapshot"
NothingCompacted   == \A n \in Node : 1 \in DOMAIN node[n].log
NoStartFromSnapshotProp ==
    [][\A n \in Node : node[n].role = "Shutdown" /\ node'[n].role # "Shutdown"
                          => node'[n].lastSnapshot.index = 0]_vars
NoneInstalledMeanwhile == \A n \in Node : node[n].snapshotting.phase = "TAKEN"
                             => node[n].lastSnapshot.index <= node[n].snapshotting.snapshot.index

NoTwoOfOnePlace    == \A n \in Node : \A k \in 2..Len(node[n].snapshots) :
                         PlaceOf(node[n].snapshots[k]) # PlaceOf(node[n].snapshots[k - 1])
NothingFromBelow   == \A n \in Node : \A m \in Inbox(n) :
                         IsRequest(m, "AppendEntries") /\ m.entries # << >>
                            => ~IsCompacted(node[n], IndexOf(m, 1))
NothingToReap      == \A n \in Node : \A m \in Inbox(n) :
                         IsRequest(m, "InstallSnapshot") => ~IsReaped(node[n].snapshots, m.snapshot)

-----------------------------------------------------------------------------
(* Members, transfers, questions.                                          *)

NoChangeCommitted  == \A c \in committed : c.entry.type = "Configuration" => c.index = 1
NobodyIsRemoved    == \A n \in Node : node[n].role = "Leader" => n \in node[n].configurations.latest.voters
NobodyTakesOver    == \A n \in Node : node[n].role = "Candidate" => ~node[n].campaign.transfer
NoTransferWon      == \A e, f \in elected : e.leader = f.leader
NobodyVerified     == verified = {}

=============================================================================
