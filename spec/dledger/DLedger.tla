------------------------------ MODULE DLedger -------------------------------
(***************************************************************************)
(* Log replication and elections of OpenMessaging DLedger 0.2.7: the whole *)
(* of it on one page, by the names of its actions.                         *)
(*                                                                         *)
(* This is the last chapter.  spec/README.md has the order in which to     *)
(* read the others; spec/dledger/README.md has the table that maps what    *)
(* DLedger records to these actions, and what the spec leaves out: sizes   *)
(* of entries, full disks, the expiry of old files.                        *)
(***************************************************************************)
EXTENDS Pushing, Commit, Follower, Heartbeats, Transfer, Failures, Properties

Init ==
    /\ node = [n \in Node |-> InitNode(n)]
    /\ network = [n \in Node |-> [p \in Peers(n) |-> EmptyChannel]]
    /\ received = [n \in Node |-> EmptyQueues]
    /\ elected = {}
    /\ committed = {}
    /\ acknowledged = {}

Next ==
    \/ \E n \in Node : ElectLeader(n)
    \/ \E n \in Node : ChangeToCandidate(n)
    \/ \E n \in Node : NextTerm(n)
    \/ \E n \in Node : SetCurrVoteFor(n)
    \/ \E n \in Node : ChangeToLeader(n)
    \/ \E n \in Node : ChangeToFollower(n)
    \/ \E n \in Node : IncreaseTerm(n)
    \/ \E n \in Node : VoteForQuorumResponses(n)
    \/ \E n \in Node : HandleVote(n)
    \/ \E n \in Node : HandleOwnVote(n)
    \/ \E n \in Node : HandleVoteResponse(n)
    \/ \E n \in Node : ParseVoteResponses(n)
    \/ \E n \in Node : SendHeartbeats(n)
    \/ \E n \in Node : HandleHeartBeat(n)
    \/ \E n \in Node : HandleHeartBeatResponse(n)
    \/ \E n \in Node : ParseHeartBeatResponses(n)
    \/ \E n \in Node : HeartBeatTimeOut(n)
    \/ \E n \in Node : HandleLeadershipTransfer(n)
    \/ \E n \in Node : WaitToTakeLeadership(n)
    \/ \E n \in Node : HandleTakeLeadership(n)
    \/ \E n \in Node : TakeLeadershipTimeOut(n)
    \/ \E n \in Node : HandleTransferResponse(n)
    \/ \E n \in Node : TransferTimeOut(n)
    \/ \E n \in Node : AppendAsLeader(n)
    \/ \E n \in Node : AppendInBatch(n)
    \/ \E n \in Node : RefuseAppend(n)
    \/ \E n \in Node : DoCompare(n)
    \/ \E n \in Node : HandleCompareResponse(n)
    \/ \E n \in Node : DoTruncate(n)
    \/ \E n \in Node : HandleTruncateResponse(n)
    \/ \E n \in Node : DoAppend(n)
    \/ \E n \in Node : DoBatchAppend(n)
    \/ \E n \in Node : DoCheckAppendResponse(n)
    \/ \E n \in Node : DoCheckBatchAppendResponse(n)
    \/ \E n \in Node : PushAnsweredAgain(n)
    \/ \E n \in Node : CheckLeak(n)
    \/ \E n \in Node : HandleAppendResponse(n)
    \/ \E n \in Node : DoCommit(n)
    \/ \E n \in Node : PushTimeOut(n)
    \/ \E n \in Node : QuorumAckChecker(n)
    \/ \E n \in Node : ActOnQuorumIndex(n)
    \/ \E n \in Node : RefreshOwnWaterMark(n)
    \/ \E n \in Node : CheckResponseFuturesTimeout(n)
    \/ \E n \in Node : DoCommitted(n)
    \/ \E n \in Node : HandlePush(n)
    \/ \E n \in Node : ClearCompareOrTruncateRequests(n)
    \/ \E n \in Node : HandleDoCompare(n)
    \/ \E n \in Node : HandleDoTruncate(n)
    \/ \E n \in Node : HandleDoAppend(n)
    \/ \E n \in Node : HandleDoBatchAppend(n)
    \/ \E n \in Node : FailStore(n)
    \/ \E n \in Node : CheckAppendFuture(n)
    \/ \E n \in Node : HandleDoCommit(n)
    \/ \E n \in Node : SkipCommit(n)
    \/ \E n \in Node : PersistCheckPoint(n)
    \/ \E n \in Node : FlushDataService(n)
    \/ \E n \in Node : Crash(n)
    \/ \E n \in Node : Shutdown(n)
    \/ \E n \in Node : LosePower(n)
    \/ \E n \in Node : CrashInPersistTerm(n)
    \/ \E n \in Node : CrashInPersistCheckPoint(n)
    \/ \E n \in Node : Restart(n)
    \/ \E n \in Node : Lose(n)
    \/ \E n \in Node : Duplicate(n)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* The fields of a node that a trace may show after an event.              *)

Observe(n) ==
    LET state == node[n] IN
    [role             |-> state.role,
     currTerm         |-> state.currTerm,
     currVoteFor      |-> state.currVoteFor,
     leaderId         |-> state.leaderId,
     ledgerBeginIndex |-> BeginIndex(state.log),
     ledgerEndIndex   |-> EndIndex(state.log),
     ledgerEndTerm    |-> state.ledgerEndTerm,
     committedIndex   |-> state.committedIndex,
     checkPoint       |-> state.checkPoint,
     lastQuorumIndex  |-> state.lastQuorumIndex,
     lastAppliedIndex |-> state.lastAppliedIndex,
     futures          |-> state.futures,
     log              |-> state.log,
     peerWaterMarks   |-> state.peerWaterMarks,
     dispatchers      |-> state.dispatchers,
     writeRequestMap           |-> received[n].writeRequestMap,
     compareOrTruncateRequests |-> received[n].compareOrTruncateRequests,
     acknowledged     |-> acknowledged,  \* not of n alone: of every client
     election         |-> state.election]

=============================================================================
