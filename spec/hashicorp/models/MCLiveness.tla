----------------------------- MODULE MCLiveness -----------------------------
(***************************************************************************)
(* Bounded models of liveness.  The reader learns seven ways in which      *)
(* servers wait for ever though a majority runs, and under which           *)
(* assumptions they get on without the flaw.                               *)
(* Progress needs assumptions: a server that can take a step does so       *)
(* (fairness), and timers leave room.  In these models a server campaigns  *)
(* when nothing is under way between Ahead and Behind: its timer is longer *)
(* than an election takes.  Nothing is lost and nobody dies, but for       *)
(* Third, which is down, or stands aside.                                  *)
(***************************************************************************)
EXTENDS MCFlaws

Between == MessagesIn(network[Ahead][Behind]) \cup MessagesIn(network[Behind][Ahead])

\* The steps of the servers in an election, and its timers.
FairElections(n) ==
    /\ WF_vars(HeartbeatTimeout(n)) /\ WF_vars(ElectionTimeout(n)) /\ WF_vars(ElectSelf(n))
    /\ WF_vars(RequestVote(n)) /\ WF_vars(HandleRequestVoteResponse(n))

\* LIVE SomebodyLeads: at some time a server leads.
SomebodyLeads == <>(\E n \in Node : node[n].role = "Leader")

-----------------------------------------------------------------------------
(* A longer log of an older term (LongerLogOlderTerm).  Ahead's last entry *)
(* is of term 2, Behind's of term 1, but Behind has more entries.  Ahead   *)
(* refuses Behind, as it should.  If Behind refuses Ahead, nobody leads.   *)

LongerLogInit ==
    Begins([n \in Node |->
               CASE n = Ahead  -> HasVoted(Up(2, <<Noop(2)>>), 2, Ahead)
                 [] n = Behind -> HasVoted(Up(2, <<Command(1), Command(1)>>), 2, Ahead)
                 [] n = Third  -> Down(HasVoted(Up(2, << >>), 2, Ahead))],
           {Leadership(Ahead, 2)}, << >>)

\* Each campaigns again and again, Ahead twice as often; the terms of a model have an end.
BothCampaign(n) ==
    /\ Between = {}
    /\ n = Ahead => node[n].currentTerm < MaxTerm
    /\ n = Behind => node[n].currentTerm < MaxTerm - 1
    /\ n # Third

LongerLogSpec == LongerLogInit /\ [][Next]_vars /\ FairElections(Ahead) /\ FairElections(Behind)

-----------------------------------------------------------------------------
(* A leader that starts again (KnownLeaderRejected).  Behind knows Ahead   *)
(* as its leader.  Ahead was started again, and its timer ends before that *)
(* of Behind, again and again.                                             *)

KnownLeaderInit ==
    Begins([n \in Node |->
               CASE n = Ahead  -> HasVoted(Up(2, <<Noop(2)>>), 2, Ahead)
                 [] n = Behind -> [HasVoted(Up(2, <<Noop(2)>>), 2, Ahead) EXCEPT !.leader = Ahead]
                 [] n = Third  -> Down(HasVoted(Up(2, << >>), 2, Ahead))],
           {Leadership(Ahead, 2)}, << >>)

AheadCampaigns(n) == n = Ahead /\ Between = {} /\ MCMayCampaign(n)

KnownLeaderSpec == KnownLeaderInit /\ [][Next]_vars /\ FairElections(Ahead) /\ FairElections(Behind)

-----------------------------------------------------------------------------
(* A conflict at the snapshot (ConflictAtSnapshot).  Ahead has one entry   *)
(* behind its snapshot, and sends Behind that.  Behind keeps an entry of   *)
(* an older term at the snapshot's index, and refuses what comes behind    *)
(* it; so Ahead sends the same snapshot again.                             *)

LoopInit ==
    LET entries == Append(Three(3), Command(3)) IN
    Begins([n \in Node |->
               CASE n = Ahead  -> Compacts(3, entries, 4)
                 [] n = Third  -> HasApplied(Up(3, entries), 5)
                 [] n = Behind -> HasVoted(Up(2, Three(2)), 2, Behind)],
           {Leadership(Behind, 2), Leadership(Ahead, 3)}, entries)

ToBehindAlone(n, peer) == n = Ahead /\ peer = Behind /\ MCMaySend(n, peer)

\* Ahead sends Behind what it takes it to lack; each handles what comes.
FairReplication ==
    /\ WF_vars(ReplicateTo(Ahead)) /\ WF_vars(SendLatestSnapshot(Ahead))
    /\ WF_vars(HandleAppendEntriesResponse(Ahead)) /\ WF_vars(HandleInstallSnapshotResponse(Ahead))
    /\ WF_vars(AppendEntries(Behind)) /\ WF_vars(InstallSnapshot(Behind))

LoopSpec == LoopInit /\ [][Next]_vars /\ FairReplication

\* LIVE CatchesUp: at some time Ahead knows that Behind has all it has.
CatchesUp == <>(node[Ahead].leaderState.matchIndexes[Behind] = 5)

-----------------------------------------------------------------------------
(* A snapshot that is reaped (ReapedInstall).  Ahead's snapshot is of      *)
(* index 3, and it sends Behind that, since it takes it to lack as much.   *)
(* Behind has applied up to 4, and has taken two snapshots there; so its   *)
(* store keeps none that is older.                                         *)

ReapedInit ==
    LET own == SnapshotAt(4, Three(2)) IN
    AnswersLost([UpToFour EXCEPT !.snapshots = <<own, own>>, !.lastSnapshot = PlaceOf(own),
                                 !.log = Deleted(@, 1, LastToDelete(UpToFour, 4))])

\* A caller that gets an error, or no answer, tries again.
ReapedSpec == ReapedInit /\ [][Next]_vars /\ FairReplication /\ WF_vars(RPCError(Ahead))

-----------------------------------------------------------------------------
(* A previous entry that was compacted (CompactedPrevRejected).  Ahead's   *)
(* snapshot is of index 3, and Behind's of 3 or 4.  Behind has applied up  *)
(* to 4, but its answers were lost: it refuses what comes behind 3, and    *)
(* Ahead sends it the snapshot, which it has.                              *)

CompactedPrevSpec == CompactedPrevInit /\ [][Next]_vars /\ FairReplication

-----------------------------------------------------------------------------
(* A candidate that a voter does not know (UnknownCandidateRejected).      *)
(* Only Ahead can win: Third has no vote, and refuses Behind, whose log is *)
(* shorter.  Ahead needs the vote of Behind, which knows the members of    *)
(* before.                                                                 *)

\* Timers end again and again, whoever else campaigns in between.
FairTimers(n)       == SF_vars(HeartbeatTimeout(n)) /\ SF_vars(ElectionTimeout(n))
FairPreElections(n) == WF_vars(PreElectSelf(n)) /\ WF_vars(RequestPreVote(n))
                       /\ WF_vars(HandleRequestPreVoteResponse(n))
WhenQuiet(n)        == UnderWay = 0 /\ MCMayCampaign(n)

UnknownSpec ==
    /\ UnknownInit /\ [][Next]_vars
    /\ \A n \in Node : FairTimers(n) /\ FairPreElections(n) /\ FairElections(n)

-----------------------------------------------------------------------------
(* A server that is alone (MatchWithoutRecalculate).                       *)

AloneSpec ==
    /\ Init /\ [][Next]_vars
    /\ WF_vars(HeartbeatTimeout(Ahead)) /\ WF_vars(ElectSelf(Ahead)) /\ WF_vars(DispatchNoop(Ahead))
    /\ WF_vars(ProcessLogs(Ahead))

\* LIVE SomethingIsCommitted: at some time an entry is committed.
SomethingIsCommitted == <>(committed # {})

=============================================================================
