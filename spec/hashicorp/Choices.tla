------------------------------ MODULE Choices -------------------------------
(***************************************************************************)
(* The choices of a model, or of the header of a trace.  The reader learns *)
(* their names; the other chapters show what each one does.                *)
(*   Features     parts of the library that are modelled                   *)
(*   Flaws        flaws of the library that are in the spec                *)
(*   Environment  what happens to the servers besides what they do         *)
(*                                                                         *)
(* Each is a set of names.  InV173 are the flaws of hashicorp/raft v1.7.3; *)
(* with the empty set each of them is repaired.  Other flaws are of older  *)
(* releases, or of a published description that this spec was compared     *)
(* with ("the sketch"): what it says differs from the library.             *)
(***************************************************************************)

CONSTANTS Features, Flaws, Environment

-----------------------------------------------------------------------------
(* Features.                                                               *)

FeatureNames == {"PreVote", "Heartbeats", "Pipeline", "Zombies", "FsmQueue", "Snapshots",
                 "ConfigurationChanges", "Transfers", "Verify", "ShutdownOnRemove", "RestoreCommittedLogs"}

\* A candidate asks for pre-votes first, as the library does from 1.7.0 on without PreVoteDisabled.
PreVote              == "PreVote" \in Features

\* Each follower is sent heartbeats by a routine of its own, beside the one that replicates.
Heartbeats           == "Heartbeats" \in Features

\* A routine whose call has succeeded sends the next requests without waiting for answers.
Pipeline             == "Pipeline" \in Features

\* The routines of a leadership that was lost may still send.
Zombies              == "Zombies" \in Features

\* Committed entries wait in a queue until the FSM applies them; without it, they are applied at once.
FsmQueue             == "FsmQueue" \in Features

\* Servers take snapshots.
Snapshots            == "Snapshots" \in Features

\* Servers are added and removed.
ConfigurationChanges == "ConfigurationChanges" \in Features

\* Leaders hand over their leadership.
Transfers            == "Transfers" \in Features

\* Clients ask a leader whether it still is one.
Verify               == "Verify" \in Features

\* A leader that was removed shuts down, as by default; without it, it follows.
ShutdownOnRemove     == "ShutdownOnRemove" \in Features

\* The log store keeps a commit index, up to which a start applies the log: v1.8.0, if it is asked for.
RestoreCommittedLogs == "RestoreCommittedLogs" \in Features

-----------------------------------------------------------------------------
(* Flaws.  Each definition is true where the spec has the flaw, and false  *)
(* where this spec repairs it.                                             *)

InV173 == {"TornVote", "ConflictAtSnapshot", "CommitUnverified", "DeleteThenStore", "SnapshotRegress",
           "StaleInstall", "ReapedInstall", "CompactedPrevRejected", "UnknownCandidateRejected",
           "HeartbeatRace", "VerifyCountsNonvoters", "VerifyCountsOldAcks", "TransferFlagLeft"}
InOlder  == {"TruncateWithoutConflict", "EvenQuorum", "LastLogNotLowered", "LongerLogOlderTerm",
             "KnownLeaderRejected"}
InSketch == {"ReplayUncommitted", "MatchWithoutRecalculate"}
FlawNames == InV173 \cup InOlder \cup InSketch

\* A vote is two writes, its term and its candidate; repaired, one.
WritesVoteInTwo     == "TornVote" \in Flaws

\* A snapshot that is installed leaves the log as it is, even where the two disagree; repaired, the log goes.
KeepsConflictingLog == "ConflictAtSnapshot" \in Flaws

\* A follower commits up to the end of its log; repaired, up to the last entry that the request was about.
CommitsUnverified   == "CommitUnverified" \in Flaws

\* The end of the log is not corrected when entries were deleted and the new ones cannot be stored.
LeavesStaleEnd      == "DeleteThenStore" \in Flaws

\* A snapshot that is saved after a newer one was installed takes the place of that.
SavesOlderSnapshot  == "SnapshotRegress" \in Flaws

\* A snapshot of what was applied long ago is installed, too.
InstallsStale       == "StaleInstall" \in Flaws

\* A snapshot that the store removes as it is saved cannot be installed; repaired, it is answered.
FailsToOpenReaped   == "ReapedInstall" \in Flaws

\* A follower looks for the entry before the new ones in its log alone; repaired, its snapshot counts, too.
SearchesLogAlone    == "CompactedPrevRejected" \in Flaws

\* A voter refuses a candidate that has no vote in the voter's own configuration.
RefusesUnknown      == "UnknownCandidateRejected" \in Flaws

\* Heartbeats are handled even while the main loop goes from one role to another.
HeartbeatsRace      == "HeartbeatRace" \in Flaws

\* VerifyLeader counts the answers of servers without a vote.
CountsNonvoters     == "VerifyCountsNonvoters" \in Flaws

\* VerifyLeader counts answers to calls that were made before it was asked.
CountsOldAcks       == "VerifyCountsOldAcks" \in Flaws

\* The flag that a transfer is in progress outlives the leadership.
LeavesTransferFlag  == "TransferFlagLeft" \in Flaws

\* 0.1: the entries of a request are deleted, with all behind them, and stored anew, even without a conflict.
TruncatesAlways     == "TruncateWithoutConflict" \in Flaws

\* 0.1: half of an even number of voters is enough to commit.
HalfCommits         == "EvenQuorum" \in Flaws

\* 0.1: after a truncation lastLog stays where it was.
KeepsLongEnd        == "LastLogNotLowered" \in Flaws

\* 0.1: a candidate with a shorter log is refused, even if its last entry is of a later term.
RefusesShorterLog   == "LongerLogOlderTerm" \in Flaws

\* 0.1: a server that knows a leader refuses every candidate, even that leader.
RefusesItsLeader    == "KnownLeaderRejected" \in Flaws

\* The sketch: a start applies the whole log to the FSM.
ReplaysLog          == "ReplayUncommitted" \in Flaws

\* The sketch: a leader that has stored an entry does not recompute the commit index.
OnlyAnswersCommit   == "MatchWithoutRecalculate" \in Flaws

-----------------------------------------------------------------------------
(* The environment.                                                        *)

EventNames == {"Loss", "Duplication", "TimeOuts", "LeaseTimeOuts", "Crashes", "CrashesInWrites",
               "StoreFailures"}

Loss            == "Loss" \in Environment             \* messages are lost
Duplication     == "Duplication" \in Environment      \* requests are delivered twice
TimeOuts        == "TimeOuts" \in Environment         \* an RPC gets no answer in time
LeaseTimeOuts   == "LeaseTimeOuts" \in Environment    \* a leader does not hear from its followers
Crashes         == "Crashes" \in Environment          \* a process dies
CrashesInWrites == "CrashesInWrites" \in Environment  \* a process dies between two durable writes
StoreFailures   == "StoreFailures" \in Environment    \* a durable write returns an error

ASSUME /\ Features \subseteq FeatureNames
       /\ Flaws \subseteq FlawNames
       /\ Environment \subseteq EventNames

-----------------------------------------------------------------------------
(* Bounds.  The spec has none: these are TRUE.  A model replaces them, so  *)
(* that it has an end.                                                     *)

MayCampaign(n)      == TRUE  \* n may become a candidate, or go on as one
MayDispatch(n)      == TRUE  \* a client may append at n
MaySend(n, peer)    == TRUE  \* n may send peer one more request
MayLose(n, m)       == TRUE  \* the message m to n may be lost
MayDuplicate(n)     == TRUE  \* a request to n may be delivered twice
MayTimeOut(n, peer) == TRUE  \* an RPC of n to peer may time out
MayLoseLease(n)     == TRUE  \* n may not hear from its followers
MayDie(n)           == TRUE  \* n may go down
MayRestart(n)       == TRUE  \* n may be started again
MayFail(n)          == TRUE  \* a write of n may fail, or be the last
MayTakeSnapshot(n)  == TRUE  \* n may take a snapshot
MayReconfigure(n)   == TRUE  \* n may be commanded to add or remove a server
MayTransfer(n)      == TRUE  \* n may be commanded to hand over
MayVerify(n)        == TRUE  \* n may be asked whether it leads

=============================================================================
