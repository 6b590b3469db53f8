------------------------------- MODULE State --------------------------------
(***************************************************************************)
(* The state of a node.  The reader learns the parts of DLedger, and the   *)
(* name and type of everything that the actions change.                    *)
(*                                                                         *)
(* A group of nodes stores one log: a sequence of entries, each a value    *)
(* with the term in which a leader appended it.  A term has one leader at  *)
(* most.  Clients append at the leader, which brings the logs of the other *)
(* nodes, its followers, in line with its own.  For each of them it runs   *)
(* an EntryDispatcher, which does one of four things:                      *)
(*                                                                         *)
(*   COMPARE   ask whether the follower holds the entry at some index      *)
(*   TRUNCATE  make the follower's log end at the last entry both hold     *)
(*   APPEND    push the entries that come next                             *)
(*   COMMIT    say how far the log is committed, when there is no entry    *)
(*             to push                                                     *)
(*                                                                         *)
(* The follower's EntryHandler obeys.  From the answers the leader keeps a *)
(* watermark for each member, the index up to which that member stores     *)
(* this log.  Its QuorumAckChecker makes one pass after another: it        *)
(* commits the entries that a majority stores, which must never be lost,   *)
(* and answers the clients that wait for them.                             *)
(*                                                                         *)
(* Indexes are DLedger's: the first entry has index 0, and -1 is none.     *)
(***************************************************************************)
EXTENDS Quorum, Channels, ElectionRules, Choices

CONSTANTS
    Node,    \* the members of the group
    Value,   \* the values that a client may append
    NoNode   \* no leader, no vote: null in the code

ASSUME IsFiniteSet(Node) /\ Node # {} /\ NoNode \notin Node

VARIABLES
    node,         \* [n \in Node -> NodeState(n)]  the state of each node
    network,      \* [Node -> [Node -> channel]]   network[src][dst]: messages under way
    received,     \* [Node -> Queues]              requests that wait at a node to be handled
    elected,      \* SUBSET [term, leader]         all leaders so far
    committed,    \* SUBSET [term, index, entry]   the entries that leaders committed, each with the term
    acknowledged  \* SUBSET [index, entry]         the entries that were answered with SUCCESS

\* `elected` is state, though no node holds it.  Where heartbeats are no messages (RoleElections) it takes the
\* place of those that leaders have sent: a node may follow any leader of its term that is in it, even one
\* that leads no more.  It stays {} while an election is one step.

\* No action reads these two; the properties do.
history == <<committed, acknowledged>>
vars    == <<node, network, received, elected, history>>

Peers(n) == Node \ {n}

-----------------------------------------------------------------------------
(* The log of a node, and its accessors.                                   *)

BeginIndex(log)  == IF log = << >> THEN -1 ELSE 0
EndIndex(log)    == Len(log) - 1
Entry(log, i)    == log[i + 1]

\* A place that a TRUNCATE jumped over: no entry was written there, and the code fails to read it.
Hole             == [term |-> -1, value |-> NoNode]
HasEntry(log, i) == 0 <= i /\ i <= EndIndex(log) /\ Entry(log, i) # Hole
TermAt(log, i)   == IF HasEntry(log, i) THEN Entry(log, i).term ELSE -1
EndTerm(log)     == TermAt(log, EndIndex(log))

EntryAt(n, i)    == Entry(node[n].log, i)

\* The index up to which a node holds the entries that it regards as committed.
CommittedEnd(state) == Min({state.committedIndex, EndIndex(state.log)})

-----------------------------------------------------------------------------
(* Types.                                                                  *)

\* A node that is DOWN does not run.
Role      == {"LEADER", "FOLLOWER", "CANDIDATE", "DOWN"}
Index     == Nat \cup {-1}
LogEntry  == [term: Nat, value: Value]
Log       == Seq(LogEntry \cup {Hole})

\* A client waits for the entry it appended; done: it was answered that it waited too long.
Future == [index: Nat, entry: LogEntry, done: BOOLEAN]

\* An APPEND that was pushed and not answered: `count` entries from `index` on.
Pending == [index: Nat, count: Nat \ {0}]

Dispatcher == [type: {"COMPARE", "TRUNCATE", "APPEND"},
               term: Index,              \* of the leadership it serves; -1 before the first
               compareIndex: Index,      \* being compared; -1: begin at the end of the log
               truncateIndex: Index,     \* to be sent by DoTruncate; -1: none
               writeIndex: Index,        \* to be pushed next
               pendings: SUBSET Pending, \* pendingMap, batchPendingMap
               awaiting: {"NOTHING", "COMPARE", "TRUNCATE"}] \* the call its thread waits for

\* A candidate asks all for their votes, a leader sends all a heartbeat: one round at a time, and its answers.
Round    == [type: {"NONE", "VOTE", "HEARTBEAT"},
             ledgerEndTerm: Index,       \* the end of the log, as the vote requests give it
             ledgerEndIndex: Index,
             maxTerm: Index,             \* the highest term that the answers carried
             answers: [Node -> {"NONE"} \cup VoteCodes \cup HeartBeatCodes]]

\* A transferee, which is to take over from `leader`, waits until it holds the entry at `index`.
Waiting  == [leader: Node \cup {NoNode}, term: Index, index: Index]

\* The fields of DLedgerLeaderElector, which change only with VoteMessages.  A crash loses all of it.
ElectionState ==
            [needIncrease: BOOLEAN,              \* needIncreaseTermImmediately
             knownMaxTerm: Index,                \* knownMaxTermInGroup, if beyond currTerm; else -1
             voteNext: BOOLEAN,                  \* lastParseResult is WAIT_TO_VOTE_NEXT
             round: Round,
             transferee: Node \cup {NoNode},     \* the peer that a leader hands over to
             transfers: SUBSET [transferee: Node, term: Nat], \* its calls without an answer yet
             waiting: Waiting,                   \* of a transferee
             termToTakeLeadership: Index,        \* -1: none
             takesFrom: Node \cup {NoNode}]      \* the old leader, which waits for its answer

NodeState(n) ==
             [role: Role,
              currTerm: Nat,                     \* durable, with currVoteFor
              currVoteFor: Node \cup {NoNode},
              votes: SUBSET Node,                \* the nodes that accepted this candidate in currTerm
              leaderId: Node \cup {NoNode},
              log: Log,                          \* written, like tail; durable as far as in disk
              tail: Log,                         \* cut by TRUNCATE, still in the file behind log
              disk: Log,                         \* the file as it was last forced to the disk
              ledgerEndTerm: Index,              \* MemberState's copy, which votes look at
              committedIndex: Index,
              checkPoint: Index,                 \* the durable copy of committedIndex
              dispatchers: [Peers(n) -> Dispatcher],
              peerWaterMarks: [Node -> Index],   \* of currTerm
              lastQuorumIndex: Index,            \* the last index that the last pass answered
              checking: [term: Index, index: Index], \* read by a pass of QuorumAckChecker
              futures: SUBSET Future,            \* of clients; pendingAppendResponsesByTerm
              applyIndex: Index,                 \* the last index that the state machine is to apply
              lastAppliedIndex: Index,           \* the last index that it has applied
              election: ElectionState]

-----------------------------------------------------------------------------
(* Watermarks.                                                             *)

NoMarks == [p \in Node |-> -1]

\* DLedgerEntryPusher.updatePeerWaterMark: a watermark only grows, and those of other terms are dropped.
UpdatePeerWaterMark(before, peer, term, index) ==
    IF term = before.currTerm /\ before.peerWaterMarks[peer] < index
    THEN [before EXCEPT !.peerWaterMarks[peer] = index]
    ELSE before

-----------------------------------------------------------------------------
(* A node at its start.                                                    *)

InitDispatcher == [type |-> "COMPARE", term |-> -1, compareIndex |-> -1, truncateIndex |-> -1,
                   writeIndex |-> -1, pendings |-> {}, awaiting |-> "NOTHING"]

NoPass == [term |-> -1, index |-> -1]

NoRound      == [type |-> "NONE", ledgerEndTerm |-> -1, ledgerEndIndex |-> -1, maxTerm |-> -1,
                 answers |-> [p \in Node |-> "NONE"]]
NobodyWaits  == [leader |-> NoNode, term |-> -1, index |-> -1]
InitElection == [needIncrease |-> FALSE, knownMaxTerm |-> -1, voteNext |-> FALSE,
                 round |-> NoRound, transferee |-> NoNode, transfers |-> {},
                 waiting |-> NobodyWaits, termToTakeLeadership |-> -1, takesFrom |-> NoNode]

\* It begins as a candidate of term 0, and knows nothing.
InitNode(n) == [role |-> "CANDIDATE", currTerm |-> 0, currVoteFor |-> NoNode, votes |-> {},
                leaderId |-> NoNode, log |-> << >>, tail |-> << >>, disk |-> << >>,
                ledgerEndTerm |-> -1, committedIndex |-> -1,
                checkPoint |-> -1, dispatchers |-> [p \in Peers(n) |-> InitDispatcher],
                peerWaterMarks |-> NoMarks, lastQuorumIndex |-> -1,
                checking |-> NoPass, futures |-> {}, applyIndex |-> -1, lastAppliedIndex |-> -1,
                election |-> InitElection]

=============================================================================
