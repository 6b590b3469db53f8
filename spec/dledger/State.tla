------------------------------- MODULE State --------------------------------
(***************************************************************************)
(* The constants, the variables with their types, and a node at its start. *)
(***************************************************************************)
EXTENDS Quorum, Channels, ElectionRules, Choices

CONSTANTS
    Node,            \* the members of the group
    Value,           \* what a client may append
    NoNode           \* no leader, no vote: null in the code

ASSUME IsFiniteSet(Node) /\ Node # {} /\ NoNode \notin Node

VARIABLES
    node,     \* [n \in Node -> NodeState(n)]      everything one node knows
    network,  \* [Node -> [Node -> Channel]]      network[src][dst]: messages under way
    received, \* [Node -> Queues]                 requests that wait at a node to be handled
    elected,  \* SUBSET [term, leader]            who was elected when; {} unless StepwiseElections
    committed, \* SUBSET [term, index, entry]    what leaders committed, and in which term
    acknowledged \* SUBSET [index, entry]         what clients were told is safe

\* No action reads `committed` or `acknowledged`; a late heartbeat alone reads `elected`.
history == <<elected, committed, acknowledged>>
vars    == <<node, network, received, history>>

Peers(n) == Node \ {n}

-----------------------------------------------------------------------------

(* The log of a node: its only accessors.                                  *)

BeginIndex(log)  == IF log = << >> THEN -1 ELSE 0
EndIndex(log)    == Len(log) - 1
Entry(log, i)    == log[i + 1]

\* What TRUNCATE jumped over: no entry was written there, and reading the index fails.
Hole             == [term |-> -1, value |-> NoNode]
HasEntry(log, i) == 0 <= i /\ i <= EndIndex(log) /\ Entry(log, i) # Hole
TermAt(log, i)   == IF HasEntry(log, i) THEN Entry(log, i).term ELSE -1
EndTerm(log)     == TermAt(log, EndIndex(log))

EntryAt(n, i)    == Entry(node[n].log, i)

\* Up to where s holds what it regards as committed.
CommittedEnd(s)  == Min({s.committedIndex, EndIndex(s.log)})

-----------------------------------------------------------------------------

(* Types.                                                                  *)

Role      == {"LEADER", "FOLLOWER", "CANDIDATE", "DOWN"}
Index     == Nat \cup {-1}
LogEntry  == [term: Nat, value: Value]
Log       == Seq(LogEntry \cup {Hole})

\* A client waits for the entry it appended; `done`: it was told that it took too long.
Future == [index: Nat, entry: LogEntry, done: BOOLEAN]

\* Pushed by APPEND and not answered: so many entries from index on; one, but for Batches.
Pending == [index: Nat, count: Nat \ {0}]

Dispatcher == [type: {"COMPARE", "TRUNCATE", "APPEND"},
               term: Index,           \* of the leadership it serves; -1 before the first
               compareIndex: Index,   \* being compared, -1: start from the end
               truncateIndex: Index,  \* to be sent by DoTruncate, -1: none
               writeIndex: Index,     \* next to push
               pendings: SUBSET Pending, \* pendingMap; batchPendingMap
               awaiting: {"NOTHING", "COMPARE", "TRUNCATE"}] \* the RPC its thread waits for

\* The StateMaintainer waits for the answers to one round at a time.
Round    == [type: {"NONE", "VOTE", "HEARTBEAT"},
             ledgerEndTerm: Index,                \* the end of the log, as the vote requests tell it
             ledgerEndIndex: Index,
             maxTerm: Index,                      \* the highest term the answers told of
             answers: [Node -> {"NONE"} \cup VoteCodes \cup HeartBeatCodes]]

\* A transferee waits until it holds the entry at index; leader is NoNode where none does.
Waiting  == [leader: Node \cup {NoNode}, term: Index, index: Index]

\* What DLedgerLeaderElector keeps; it changes only with VoteMessages.  All of it is lost in a crash.
ElectionState ==
            [needIncrease: BOOLEAN,               \* needIncreaseTermImmediately
             knownMaxTerm: Index,                 \* knownMaxTermInGroup, if beyond currTerm; else -1
             voteNext: BOOLEAN,                   \* lastParseResult is WAIT_TO_VOTE_NEXT
             round: Round,
             transferee: Node \cup {NoNode},      \* of a leader: to whom it hands over
             transfers: SUBSET [transferee: Node, term: Nat], \* its calls without an answer yet
             waiting: Waiting,
             termToTakeLeadership: Index,         \* -1: none
             takesFrom: Node \cup {NoNode}]       \* who is told when it took it

NodeState(n) ==
             [role: Role,
              currTerm: Nat,                      \* durable, with currVoteFor
              currVoteFor: Node \cup {NoNode},
              votes: SUBSET Node,                 \* who accepted this candidate in currTerm
              leaderId: Node \cup {NoNode},
              log: Log,                           \* written, like tail; durable as far as in disk
              tail: Log,                          \* cut by TRUNCATE, still in the file behind log
              disk: Log,                          \* the file as it was last forced to the disk
              ledgerEndTerm: Index,               \* MemberState's copy, which votes look at
              committedIndex: Index,
              checkPoint: Index,                  \* the durable copy of committedIndex
              dispatchers: [Peers(n) -> Dispatcher],
              peerWaterMarks: [Node -> Index],    \* of currTerm
              lastQuorumIndex: Index,
              checking: [term: Index, index: Index], \* what a pass of QuorumAckChecker read; -1: no pass
              futures: SUBSET Future,             \* of clients; pendingAppendResponsesByTerm
              toldIndex: Index,                   \* up to which the state machine shall apply
              lastAppliedIndex: Index,
              election: ElectionState]

InitDispatcher == [type |-> "COMPARE", term |-> -1, compareIndex |-> -1, truncateIndex |-> -1,
                   writeIndex |-> -1, pendings |-> {}, awaiting |-> "NOTHING"]

NoMarks == [p \in Node |-> -1]
NoPass  == [term |-> -1, index |-> -1]

NoRound      == [type |-> "NONE", ledgerEndTerm |-> -1, ledgerEndIndex |-> -1, maxTerm |-> -1,
                 answers |-> [p \in Node |-> "NONE"]]
NobodyWaits  == [leader |-> NoNode, term |-> -1, index |-> -1]
InitElection == [needIncrease |-> FALSE, knownMaxTerm |-> -1, voteNext |-> FALSE,
                 round |-> NoRound, transferee |-> NoNode, transfers |-> {},
                 waiting |-> NobodyWaits, termToTakeLeadership |-> -1, takesFrom |-> NoNode]

InitNode(n) == [role |-> "CANDIDATE", currTerm |-> 0, currVoteFor |-> NoNode, votes |-> {},
                leaderId |-> NoNode, log |-> << >>, tail |-> << >>, disk |-> << >>,
                ledgerEndTerm |-> -1, committedIndex |-> -1,
                checkPoint |-> -1, dispatchers |-> [p \in Peers(n) |-> InitDispatcher],
                peerWaterMarks |-> NoMarks, lastQuorumIndex |-> -1,
                checking |-> NoPass, futures |-> {}, toldIndex |-> -1, lastAppliedIndex |-> -1,
                election |-> InitElection]

=============================================================================
