------------------------------ MODULE Choices -------------------------------
(***************************************************************************)
(* The choices of a model, or of the header of a trace.  The reader learns *)
(* their names; the other chapters show what each one does.                *)
(*                                                                         *)
(*   Features     parts of DLedger, and steps that are split               *)
(*   Flaws        flaws of released versions of DLedger                    *)
(*   Environment  what happens to the group besides what its nodes do      *)
(*                                                                         *)
(* Each is a set of names.  With empty sets the steps are the coarsest,    *)
(* every flaw is repaired, and nothing goes wrong.  A feature that splits  *)
(* a step brings no rules of its own: the coarse action is made of the     *)
(* same operators as the fine ones that take its place.                    *)
(*                                                                         *)
(* A trace is checked with the whole of Environment.  Its header has each  *)
(* feature and each flaw by its name: "RequestQueues": true puts that      *)
(* feature into Features, "PriorTermCommit": "published" that flaw into    *)
(* Flaws.                                                                  *)
(***************************************************************************)

CONSTANTS Features, Flaws, Environment

-----------------------------------------------------------------------------
(* Features.                                                               *)

FeatureNames == {"StepwiseElections", "VoteMessages", "RequestQueues", "SplitQuorumCheck",
                 "PendingMap", "LateResend", "Batches", "NotFollower", "LateRole", "Clients", "Applies"}

\* An election takes a step for each raised term, vote and change of role; without it, ElectLeader is one
\* step.
StepwiseElections == "StepwiseElections" \in Features

\* Vote requests, heartbeats and transfers of leadership are messages; needs StepwiseElections.
VoteMessages      == "VoteMessages" \in Features

\* A request waits in a queue of the follower until it is handled; without it, it is handled when it is
\* received.
RequestQueues     == "RequestQueues" \in Features

\* A pass of the QuorumAckChecker reads the watermarks in one step and acts on them in another.
SplitQuorumCheck  == "SplitQuorumCheck" \in Features

\* A dispatcher remembers what it has pushed and has no answer to.
PendingMap        == "PendingMap" \in Features

\* A dispatcher has looked whether it may push more before it pushes again, and by then it may;
\* needs PendingMap.
LateResend        == "LateResend" \in Features

\* A client may append, and an APPEND push, several entries at once; needs PendingMap.
Batches           == "Batches" \in Features

\* A node that does not follow refuses COMPARE, TRUNCATE and COMMIT, as from 0.3.0 on; without it, they wait
\* until it follows, as in 0.2.7.
NotFollower       == "NotFollower" \in Features

\* The EntryHandler has looked whether its node follows before it handles an APPEND or TRUNCATE, and by then
\* it may not; and its term may be past before it learns what is committed.
LateRole          == "LateRole" \in Features

\* Clients wait for the entries they appended, and are answered.
Clients           == "Clients" \in Features

\* A state machine applies what is committed, and answers the clients.
Applies           == "Applies" \in Features

-----------------------------------------------------------------------------
(* Flaws.  Each definition is true where the code is as it was published,  *)
(* and false where this spec repairs it.                                   *)

FlawNames == {"PriorTermCommit", "TruncatedTail", "PushTermCheck", "AppendTermCheck", "LateTruncate",
              "DeposedTruncate", "CommitPastEnd", "AsyncFlush", "VoteFile", "LedgerEndTerm", "ApplyUnclamped",
              "AckByQuorumIndex", "StaleCompareIndex", "RepeatedPush", "HighTermLaggard"}

\* Entries of earlier terms commit by counting watermarks.
PriorTermCommit   == "PriorTermCommit" \in Flaws

\* Entries that TRUNCATE cuts stay in the file, and may come back after a restart.
TruncatedTail     == "TruncatedTail" \in Flaws

\* COMPARE and COMMIT are obeyed whatever their term and leader.
PushTermCheck     == "PushTermCheck" \in Flaws

\* An APPEND of any term and leader is answered with SUCCESS if its entries are stored already.
AppendTermCheck   == "AppendTermCheck" \in Flaws

\* A TRUNCATE that is late cuts what its leader appended meanwhile, or leaves a gap where the log was cut.
LateTruncate      == "LateTruncate" \in Flaws

\* A deposed leader sends the TRUNCATE that it was about to send, with what its log holds by then.
DeposedTruncate   == "DeposedTruncate" \in Flaws

\* A TRUNCATE cuts below committedIndex.
CommitPastEnd     == "CommitPastEnd" \in Flaws

\* An entry is acknowledged before it is on the disk.
AsyncFlush        == "AsyncFlush" \in Flaws

\* The file of term and vote is removed before the new one has its name; so is the checkpoint.
VoteFile          == "VoteFile" \in Flaws

\* Votes look at the term in which the last entry was stored, not at the entry's own; so in 0.1 alone.
LedgerEndTerm     == "LedgerEndTerm" \in Flaws

\* The state machine applies up to an index that the store did not commit.
ApplyUnclamped    == "ApplyUnclamped" \in Flaws

\* Clients are answered by the quorum index, committed or not.
AckByQuorumIndex  == "AckByQuorumIndex" \in Flaws

\* A dispatcher of a new leadership compares from where one of an earlier leadership stopped.
StaleCompareIndex == "StaleCompareIndex" \in Flaws

\* An APPEND beyond a gap stays in the queue once it was answered, in the way of the same one sent again.
RepeatedPush      == "RepeatedPush" \in Flaws

\* A leader with a quorum stays in its term when a member is in a higher one, which that member cannot leave.
HighTermLaggard   == "HighTermLaggard" \in Flaws

-----------------------------------------------------------------------------
(* The environment.                                                        *)

EventNames == {"StepDowns", "Transfers", "Loss", "Duplication", "TimeOuts", "ClientTimeOuts",
               "Crashes", "Shutdowns", "PowerLoss", "CheckPoints"}

StepDowns      == "StepDowns" \in Environment       \* a node loses its leader, or its leadership, by time
Transfers      == "Transfers" \in Environment       \* a leader is commanded to hand over
Loss           == "Loss" \in Environment            \* messages are lost
Duplication    == "Duplication" \in Environment     \* messages are delivered twice
TimeOuts       == "TimeOuts" \in Environment        \* an RPC gets no answer in time
ClientTimeOuts == "ClientTimeOuts" \in Environment  \* a client has waited too long
Crashes        == "Crashes" \in Environment         \* a process dies
Shutdowns      == "Shutdowns" \in Environment       \* a process is stopped in good order
PowerLoss      == "PowerLoss" \in Environment       \* a machine loses what is not on its disk
CheckPoints    == "CheckPoints" \in Environment     \* committedIndex is written to its file

ASSUME /\ Features \subseteq FeatureNames
       /\ VoteMessages => StepwiseElections
       /\ LateResend => PendingMap
       /\ Batches => PendingMap
       /\ Flaws \subseteq FlawNames
       /\ Environment \subseteq EventNames

-----------------------------------------------------------------------------
(* Bounds.  The spec has none: these are TRUE.  A model replaces them, so  *)
(* that it has an end.                                                     *)

MayElect(n)         == TRUE  \* n may raise its term
MayVote(n)          == TRUE  \* n may send a round of vote requests
MayBeat(n)          == TRUE  \* n may send a round of heartbeats
MayTransfer(n)      == TRUE  \* n may be commanded to hand over
MayAppend(n)        == TRUE  \* a client may append at n
MaySend(n, peer)    == TRUE  \* n may push one more request
MayLose(n, m)       == TRUE  \* the message m to n may be lost
MayDuplicate(n)     == TRUE  \* a message to n may be delivered twice
MayTimeOut(n, peer) == TRUE  \* an RPC of n to peer may time out
MayFlush(n)         == TRUE  \* n may force its file to the disk
MayCheckPoint(n)    == TRUE  \* n may write its checkpoint
MayDie(n)           == TRUE  \* n may go down

=============================================================================
