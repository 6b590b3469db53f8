--------------------------- MODULE HashicorpRaft ----------------------------
(***************************************************************************)
(* hashicorp/raft v1.7.3: the whole of it on one page, by the names of its *)
(* actions.                                                                *)
(*                                                                         *)
(* This is the last chapter.  spec/README.md has the order in which to     *)
(* read the others; spec/hashicorp/README.md has the flaws, the properties *)
(* and what the spec leaves out.                                           *)
(***************************************************************************)
EXTENDS Failures, Snapshots, Membership, Leadership, Pipeline, Zombies, Follower, Votes,
        Properties

Init ==
    /\ node = [n \in Node |-> InitNode(n)]
    /\ network = [n \in Node |-> [p \in Peers(n) |-> EmptyChannel]]
    /\ elected = {}
    /\ committed = {}
    /\ verified = {}

Next ==
    \/ \E n \in Node : HeartbeatTimeout(n)
    \/ \E n \in Node : ElectionTimeout(n)
    \/ \E n \in Node : PreElectSelf(n)
    \/ \E n \in Node : RunFollower(n)
    \/ \E n \in Node : ElectSelf(n)
    \/ \E n \in Node : RequestVote(n)
    \/ \E n \in Node : RequestVoteAroundHeartbeat(n)
    \/ \E n \in Node : RequestPreVote(n)
    \/ \E n \in Node : HandleRequestVoteResponse(n)
    \/ \E n \in Node : HandleRequestPreVoteResponse(n)
    \/ \E n \in Node : TimeoutNow(n)
    \/ \E n \in Node : DispatchNoop(n)
    \/ \E n \in Node : DispatchLogs(n)
    \/ \E n \in Node : ProcessLogs(n)
    \/ \E n \in Node : StepDown(n)
    \/ \E n \in Node : CheckLeaderLease(n)
    \/ \E n \in Node : ReplicateTo(n)
    \/ \E n \in Node : SendLatestSnapshot(n)
    \/ \E n \in Node : PipelineSend(n)
    \/ \E n \in Node : PipelineAbort(n)
    \/ \E n \in Node : Heartbeat(n)
    \/ \E n \in Node : HandleAppendEntriesResponse(n)
    \/ \E n \in Node : HandleInstallSnapshotResponse(n)
    \/ \E n \in Node : HandleHeartbeatResponse(n)
    \/ \E n \in Node : RPCError(n)
    \/ \E n \in Node : ZombieReplicateTo(n)
    \/ \E n \in Node : ZombieSendSnapshot(n)
    \/ \E n \in Node : ZombieHeartbeat(n)
    \/ \E n \in Node : AppendEntries(n)
    \/ \E n \in Node : InstallSnapshot(n)
    \/ \E n \in Node : ApplyFsm(n)
    \/ \E n \in Node : TakeSnapshot(n)
    \/ \E n \in Node : PersistSnapshot(n)
    \/ \E n \in Node : CompactLogs(n)
    \/ \E n \in Node : AppendConfigurationEntry(n)
    \/ \E n \in Node : LeadershipTransfer(n)
    \/ \E n \in Node : SendTimeoutNow(n)
    \/ \E n \in Node : HandleTimeoutNowResponse(n)
    \/ \E n \in Node : EndTransfer(n)
    \/ \E n \in Node : VerifyLeader(n)
    \/ \E n \in Node : HandleVerify(n)
    \/ \E n \in Node : Crash(n)
    \/ \E n \in Node : Restart(n)
    \/ \E n \in Node : Lose(n)
    \/ \E n \in Node : Duplicate(n)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* The fields of a server that a trace may show after an event.            *)

Observe(n) ==
    LET state == node[n] IN
    [role           |-> state.role,
     loop           |-> state.loop,
     currentTerm    |-> state.currentTerm,
     lastVoteTerm   |-> state.lastVoteTerm,
     lastVoteCand   |-> state.lastVoteCand,
     leader         |-> state.leader,
     log            |-> state.log,
     lastLog        |-> state.lastLog,
     lastSnapshot   |-> state.lastSnapshot,
     lastIndex      |-> LastIndex(state),
     commitIndex    |-> state.commitIndex,
     storedCommit   |-> state.storedCommit,
     lastApplied    |-> state.lastApplied,
     fsm            |-> state.fsm,
     fsmQueue       |-> state.fsmQueue,
     snapshots      |-> [k \in DOMAIN state.snapshots |-> PlaceOf(state.snapshots[k])],
     configurations |-> state.configurations,
     campaign       |-> state.campaign,
     leaderState    |-> state.leaderState,
     replication    |-> state.replication,
     snapshotting   |-> state.snapshotting.phase,
     transfer       |-> state.transfer,
     verify         |-> [active |-> state.verify.active, acks |-> state.verify.acks]]

=============================================================================
