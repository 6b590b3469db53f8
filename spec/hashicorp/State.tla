------------------------------- MODULE State --------------------------------
(***************************************************************************)
(* The state of a server.  The reader learns the parts of hashicorp/raft,  *)
(* and the name and type of everything that the actions change.            *)
(*                                                                         *)
(* The servers store one log.  One of them leads: clients append there,    *)
(* and for each other server, its peer, it runs two routines: one sends    *)
(* the entries, the other heartbeats.  An entry that a majority of the     *)
(* voters stores is committed; each server hands what is committed to its  *)
(* FSM, the client's state machine.  Now and then the FSM is saved as a    *)
(* snapshot, and the entries that it covers are deleted.                   *)
(* A server is a main loop with routines beside it.  The main loop takes   *)
(* one event after another: a request, an answer to a vote, a timer.  Here *)
(* it handles an event in one step, and `loop` announces the steps that    *)
(* follow a change of role.                                                *)
(*                                                                         *)
(* Indexes are the library's: the first entry has index 1, and 0 is none.  *)
(* Entry 1 is the bootstrap configuration, in term 1.                      *)
(***************************************************************************)
EXTENDS Quorum, Channels, Choices

CONSTANTS
    Node,              \* all servers, members or not
    Voters,            \* the voters of the first configuration
    Nonvoters,         \* its members without a vote, which only store the log
    Value,             \* the commands that a client may append
    NoNode,            \* no leader, no vote, no value: null in the code
    MaxAppendEntries,  \* the most entries in a request
    TrailingLogs,      \* the number of entries that a snapshot leaves in the log
    RetainSnapshots    \* the number of snapshots that a server keeps

ASSUME /\ IsFiniteSet(Node) /\ NoNode \notin Node
       /\ Voters \subseteq Node /\ Voters # {} /\ Nonvoters \subseteq Node \ Voters
       /\ MaxAppendEntries \in Nat \ {0} /\ TrailingLogs \in Nat /\ RetainSnapshots \in Nat \ {0}

VARIABLES
    node,       \* [n \in Node -> NodeState]      the state of each server
    network,    \* [Node -> [Node -> channel]]    network[src][dst]: messages under way
    elected,    \* SUBSET [term, leader]          all leaders so far
    committed,  \* SUBSET [term, index, entry]    the entries that leaders committed, each with its first term
    verified    \* SUBSET [term, leader, superseded]  the leaders that VerifyLeader confirmed

\* No action reads these; the properties do.
history == <<elected, committed, verified>>
vars    == <<node, network, history>>

Peers(n) == Node \ {n}

-----------------------------------------------------------------------------
(* Types.                                                                  *)

Configuration   == [voters: SUBSET Node, nonvoters: SUBSET Node]
NoConfiguration == [voters |-> {}, nonvoters |-> {}]
EntryType       == {"Command", "Noop", "Configuration", "Barrier"}
Entry           == [term: Nat, type: EntryType, value: Value \cup {NoNode}, configuration: Configuration]

\* A place in the log: of its last entry, of a snapshot, of the last entry that the FSM saw.
Place           == [index: Nat, term: Nat]
AppliedEntry    == [index: Nat, entry: Entry]
Snapshot        == [index: Nat, term: Nat, configuration: Configuration, configurationIndex: Nat,
                    applied: Seq(AppliedEntry)]

\* Shutdown: the process does not run.
Role            == {"Follower", "Candidate", "Leader", "Shutdown"}

\* The next act of the main loop: to take an event, or the first lines of runCandidate, or those of runLeader.
\* OVERTAKEN: to take one more event as the candidate or the leader that the server was (HeartbeatRace).
Loop            == {"SELECT", "CAMPAIGN", "LEAD", "OVERTAKEN"}

Configurations  == [committed: Configuration, committedIndex: Nat, latest: Configuration, latestIndex: Nat]
Campaign        == [phase: {"NONE", "PREVOTE", "VOTE"},
                    granted: SUBSET Node,
                    transfer: BOOLEAN]      \* candidateFromLeadershipTransfer
LeaderState     == [startIndex: Nat,        \* commitment: the first index of this leadership
                    commitIndex: Nat,       \* commitment: the last index that a quorum stores
                    matchIndexes: [Node -> Nat],
                    stepDown: BOOLEAN]      \* a peer has answered from a higher term

\* The two routines for a peer: followerReplication.
PipelinedCall   == [sentIndex: Nat,         \* the last index in the request; 0: no entry
                    old: BOOLEAN]           \* it was sent before VerifyLeader was asked
Runner          == [running: BOOLEAN,
                    term: Nat,              \* currentTerm, of the leadership
                    nextIndex: Nat,
                    awaiting: {"NOTHING", "AppendEntries", "InstallSnapshot"},
                    sentIndex: Nat,         \* the last index in the request without an answer; 0: no entry
                    pipeline: {"NONE", "ALLOWED", "OPEN"},
                    inFlight: Seq(PipelinedCall),  \* the calls of the pipeline without an answer, in order
                    beating: BOOLEAN,       \* a heartbeat has no answer yet
                    old: BOOLEAN,           \* it was sent before VerifyLeader was asked
                    oldCall: BOOLEAN]       \* so was the request without an answer
Zombie          == [peer: Node, term: Nat, nextIndex: Nat]

NodeState ==
    [currentTerm: Nat,                      \* durable, a key of its own, as the two that follow
     lastVoteTerm: Nat,
     lastVoteCand: Node \cup {NoNode},
     snapshots: Seq(Snapshot),              \* durable, the newest first
     storedCommit: Nat,                     \* durable, with the log: CommitTrackingLogStore
     role: Role,
     loop: Loop,
     leader: Node \cup {NoNode},            \* the known leader
     lastLog: Place,                        \* the end of the log, as the main loop keeps it
     lastSnapshot: Place,
     commitIndex: Nat,
     lastApplied: Nat,                      \* the last index that was handed to the FSM
     fsm: [index: Nat, term: Nat, applied: Seq(AppliedEntry)],
     fsmQueue: Seq(AppliedEntry),
     configurations: Configurations,
     campaign: Campaign,
     leaderState: LeaderState,
     replication: [Node -> Runner],
     zombies: SUBSET Zombie,
     snapshotting: [phase: {"NONE", "TAKEN", "SAVED"}, snapshot: Snapshot],
     transfer: [inProgress: BOOLEAN, to: Node \cup {NoNode}, term: Nat, asked: BOOLEAN],
     verify: [active: BOOLEAN, acks: SUBSET Node, waiting: SUBSET Node, refused: BOOLEAN, quorum: Nat,
              superseded: BOOLEAN]]

\* All of the state but the log, which is a function from indexes, with gaps maybe, to entries.
WithoutLog(state) == [f \in DOMAIN state \ {"log"} |-> state[f]]

-----------------------------------------------------------------------------
(* The log of a server, and its accessors.                                 *)

HasEntry(state, i) == i \in DOMAIN state.log
NoPlace            == [index |-> 0, term |-> 0]

\* The end of the log by LogStore.LastIndex and GetLog.
EndOf(log)         == IF DOMAIN log = {} THEN NoPlace
                      ELSE [index |-> Max(DOMAIN log), term |-> log[Max(DOMAIN log)].term]

\* raftState.getLastEntry: the end of the log or the snapshot, whichever is further.
LastEntry(state)   == IF state.lastLog.index >= state.lastSnapshot.index THEN state.lastLog
                      ELSE state.lastSnapshot
LastIndex(state)   == LastEntry(state).index

Members(c)            == c.voters \cup c.nonvoters
IsVoter(state, n)     == n \in state.configurations.latest.voters
OtherVoters(n, state) == state.configurations.latest.voters \ {n}
OwnVote(n, state)     == state.configurations.latest.voters \cap {n}

\* The order of FileSnapshotStore: by term, then by index, then by the time in the name; of two of one place
\* neither is newer here, and the one that was saved last comes first.
PlaceOf(s)         == [index |-> s.index, term |-> s.term]
Newer(s, t)        == s.term > t.term \/ (s.term = t.term /\ s.index > t.index)
Newest(snapshots)  == Head(snapshots)

-----------------------------------------------------------------------------
(* The routines of a leader, and the decision of VerifyLeader.             *)

RunnerFor(n, peer) == node[n].replication[peer]

\* verifyFuture.vote: a quorum confirms the leader, which counts itself, with a vote or without; or a peer
\* denies it.
IsVerified(verify) == Cardinality(verify.acks) + 1 >= verify.quorum
IsDecided(verify)  == verify.refused \/ IsVerified(verify)

-----------------------------------------------------------------------------
(* A server at its start.                                                  *)

InitRunner == [running |-> FALSE, term |-> 0, nextIndex |-> 0, awaiting |-> "NOTHING", sentIndex |-> 0,
               pipeline |-> "NONE", inFlight |-> << >>, beating |-> FALSE, old |-> FALSE,
               oldCall |-> FALSE]

NoCampaign     == [phase |-> "NONE", granted |-> {}, transfer |-> FALSE]
NoLeaderState  == [startIndex |-> 0, commitIndex |-> 0, matchIndexes |-> [p \in Node |-> 0],
                   stepDown |-> FALSE]
NoSnapshot     == [index |-> 0, term |-> 0, configuration |-> NoConfiguration, configurationIndex |-> 0,
                   applied |-> << >>]
NoSnapshotting == [phase |-> "NONE", snapshot |-> NoSnapshot]
NoTransfer     == [inProgress |-> FALSE, to |-> NoNode, term |-> 0, asked |-> FALSE]
NoVerify       == [active |-> FALSE, acks |-> {}, waiting |-> {}, refused |-> FALSE, quorum |-> 0,
                   superseded |-> FALSE]
NoRunners      == [p \in Node |-> InitRunner]
EmptyFsm       == [index |-> 0, term |-> 0, applied |-> << >>]

\* A server that was started with nothing.
EmptyNode ==
    [currentTerm |-> 0, lastVoteTerm |-> 0, lastVoteCand |-> NoNode, log |-> << >>, snapshots |-> << >>,
     storedCommit |-> 0,
     role |-> "Follower", loop |-> "SELECT", leader |-> NoNode,
     lastLog |-> NoPlace, lastSnapshot |-> NoPlace, commitIndex |-> 0, lastApplied |-> 0,
     fsm |-> EmptyFsm, fsmQueue |-> << >>,
     configurations |-> [committed |-> NoConfiguration, committedIndex |-> 0,
                         latest |-> NoConfiguration, latestIndex |-> 0],
     campaign |-> NoCampaign, leaderState |-> NoLeaderState, replication |-> NoRunners, zombies |-> {},
     snapshotting |-> NoSnapshotting, transfer |-> NoTransfer, verify |-> NoVerify]

FirstConfiguration == [voters |-> Voters, nonvoters |-> Nonvoters]
FirstEntry == [term |-> 1, type |-> "Configuration", value |-> NoNode, configuration |-> FirstConfiguration]

\* BootstrapCluster: the members of the first configuration begin with it, in term 1.
InitNode(n) ==
    IF n \notin Voters \cup Nonvoters THEN EmptyNode
    ELSE [EmptyNode EXCEPT !.currentTerm = 1, !.log = [i \in {1} |-> FirstEntry],
                           !.lastLog = [index |-> 1, term |-> 1],
                           !.configurations.latest = FirstConfiguration, !.configurations.latestIndex = 1]

=============================================================================
