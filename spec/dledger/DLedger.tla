------------------------------ MODULE DLedger -------------------------------
(***************************************************************************)
(* Log replication and elections of OpenMessaging DLedger 0.2.7.           *)
(*                                                                         *)
(* A leader keeps one EntryDispatcher for each peer.  It is in one of four *)
(* states: COMPARE looks for the last entry both logs hold, TRUNCATE cuts  *)
(* what the follower holds beyond it, APPEND pushes entries, COMMIT tells  *)
(* the committed index when there is nothing to push.  The follower's      *)
(* EntryHandler obeys these requests; the leader's QuorumAckChecker turns  *)
(* the watermarks of the peers into a committed index.                     *)
(*                                                                         *)
(* Grain.  A constant for each feature chooses between one step and the    *)
(* steps of the code.  AtomicReceipt: a request is handled when it is      *)
(* received; or it waits in the queues of the EntryHandler.                *)
(* AtomicQuorumCheck: a pass of QuorumAckChecker is one step; or it reads  *)
(* the watermarks, and acts on them later.  AtomicElection: an election is *)
(* one step; or a step for each raised term, vote, leader and follower (the*)
(* grain of recorded roles), in which the vote and heartbeat messages      *)
(* themselves are left out; or message by message, transfers of leadership *)
(* among them, by the rules of Election.tla (VoteMessages).  PendingMap,   *)
(* Batches, Clients, Applies: whether what a dispatcher has pushed, pushes *)
(* of several entries, the futures of clients and the state machine are    *)
(* modelled at all.                                                        *)
(*                                                                         *)
(* Left out: disk sizes, expiry of old files.                              *)
(* spec/README.md tells what each omission can hide.                       *)
(*                                                                         *)
(* Indexes are DLedger's: the first entry is 0, and -1 means none.         *)
(* Each handler is a pure operator on the record of one node; an action is *)
(* a guard, a handler, and what it sends.  Given a state, an action and    *)
(* its parameters there is at most one successor.                          *)
(***************************************************************************)
EXTENDS Election

CONSTANTS
    Node,            \* the members of the group
    Value,           \* what a client may append
    NoNode,          \* no leader, no vote: null in the code
    Fifo             \* TRUE: a channel delivers in order; FALSE: in any order

\* The grain: TRUE, FALSE is the coarsest, as DLedger is the contrary.
CONSTANTS
    AtomicElection,    \* TRUE: ElectLeader; FALSE: NextTerm, SetCurrVoteFor, ChangeToLeader, ...
    VoteMessages,      \* TRUE: HandleVote, HandleHeartBeat, ... instead of the latter
    AtomicReceipt,     \* TRUE: handled when received; FALSE: HandlePush queues first
    AtomicQuorumCheck, \* TRUE: one step; FALSE: QuorumAckChecker reads, ActOnQuorumIndex acts
    PendingMap,        \* TRUE: a dispatcher knows what it pushed and has no answer to
    Batches,           \* TRUE: a client may append, and an APPEND push, several entries at once
    NotFollower,       \* TRUE: who does not follow refuses COMPARE, TRUNCATE, COMMIT (0.3.0 on); FALSE: they wait
    Clients,           \* TRUE: clients wait for the entries they appended, and are answered
    Applies            \* TRUE: a state machine is told what is committed, and answers the clients

\* The flaws: each is "published" (as the code is) or "repaired".
CONSTANTS
    PriorTermCommit, \* D1  entries of earlier terms commit by counting watermarks
    TruncatedTail,   \* D5  what TRUNCATE cuts comes back after a restart
    PushTermCheck,   \* D2  COMPARE and COMMIT are obeyed whatever their term and leader
    LateTruncate,    \* D3  a TRUNCATE cuts what its leader appended behind it
    CommitPastEnd,   \* D6  a TRUNCATE cuts below committedIndex
    AsyncFlush,      \* D7  an entry is acknowledged before it is on the disk
    VoteFile,        \* D8  term and vote are nowhere while their file is replaced; so is the checkpoint
    LedgerEndTerm,   \* D10 votes look at the term in which the last entry was stored, as in 0.1
    ApplyUnclamped,  \* D13 the state machine is told an index that the store did not commit
    AckByQuorumIndex, \* D15 clients are answered by the quorum index, committed or not
    StaleCompareIndex \* a new leadership compares from where an old one stopped

ASSUME /\ IsFiniteSet(Node) /\ Node # {} /\ NoNode \notin Node
       /\ {AtomicElection, VoteMessages, AtomicReceipt, AtomicQuorumCheck, PendingMap, Batches,
           NotFollower, Clients, Applies, Fifo} \subseteq BOOLEAN
       /\ VoteMessages => ~AtomicElection
       /\ Batches => PendingMap
       /\ {PriorTermCommit, TruncatedTail, PushTermCheck, LateTruncate, CommitPastEnd,
           AsyncFlush, VoteFile, LedgerEndTerm, ApplyUnclamped, AckByQuorumIndex,
           StaleCompareIndex}
             \subseteq {"published", "repaired"}

VARIABLES
    node,     \* [n \in Node -> NodeState(n)]      everything one node knows
    network,  \* [Node -> [Node -> Channel]]      network[src][dst]: messages under way
    received, \* [Node -> Queues]                 requests that wait at a node to be handled
    elected,  \* SUBSET [term, leader]            who was elected when; {} if AtomicElection
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

-----------------------------------------------------------------------------
(* The network.  A channel is a sequence (Fifo) or a bag: [message -> how  *)
(* many copies].  A request is `awaited` while its caller would still take *)
(* the answer; a caller that gave up ignores late answers.                 *)

EmptyChannel   == << >>
Deliverable(c) == IF ~Fifo THEN DOMAIN c ELSE IF c = << >> THEN {} ELSE {Head(c)}

Put(c, m) == IF Fifo THEN Append(c, m)
             ELSE [x \in DOMAIN c \cup {m} |-> (IF x \in DOMAIN c THEN c[x] ELSE 0)
                                               + (IF x = m THEN 1 ELSE 0)]

Take(c, m) == IF Fifo THEN Tail(c)
              ELSE IF c[m] > 1 THEN [c EXCEPT ![m] = @ - 1]
              ELSE [x \in DOMAIN c \ {m} |-> c[x]]

Twice(c, m) == IF Fifo THEN <<m>> \o c ELSE [c EXCEPT ![m] = @ + 1]

Inbox(n) == UNION {Deliverable(network[p][n]) : p \in Peers(n)}

\* All messages of a channel, those that must wait for their turn as well.
Messages(c) == IF Fifo THEN {c[k] : k \in 1..Len(c)} ELSE DOMAIN c

Sent(net, m)     == [net EXCEPT ![m.src][m.dst] = Put(@, m)]
Received(net, m) == [net EXCEPT ![m.src][m.dst] = Take(@, m)]

\* The messages from n, but for requests that n gave up: a step of n adds here exactly what it sends.
Outbox(n) ==
    {m \in UNION {Messages(network[n][p]) : p \in Peers(n)} :
        m.kind = "request" => m.awaited \/ m.type = "COMMIT"}

\* The requests of c that `Gone` holds for are no longer awaited.
NotAwaited(c, Gone(_)) ==
    LET After(m) == IF m.kind = "request" /\ Gone(m) THEN [m EXCEPT !.awaited = FALSE] ELSE m IN
    IF Fifo THEN [k \in 1..Len(c) |-> After(c[k])]
    ELSE [x \in {After(m) : m \in DOMAIN c} |->
            LET Count(m) == IF m \in DOMAIN c /\ After(m) = x THEN c[m] ELSE 0
                twin     == IF x.kind = "request" THEN [x EXCEPT !.awaited = TRUE] ELSE x
            IN  IF twin = x THEN Count(x) ELSE Count(x) + Count(twin)]

\* The answers in c that `Gone` holds for are ignored when they arrive.
WithoutAnswers(c, Gone(_)) ==
    LET Stays(m) == ~(m.kind = "response" /\ Gone(m)) IN
    IF Fifo THEN SelectSeq(c, Stays) ELSE [m \in {x \in DOMAIN c : Stays(x)} |-> c[m]]

\* n takes no more answers from `peer` to the requests that `Gone` holds for.
Abandon(net, n, peer, Gone(_)) ==
    [net EXCEPT ![n][peer] = NotAwaited(@, Gone), ![peer][n] = WithoutAnswers(@, Gone)]

\* The same for those that wait in the queues of the peer.
AbandonQueued(queues, n, peer, Gone(_)) ==
    LET After(m) == IF m.src = n /\ Gone(m) THEN [m EXCEPT !.awaited = FALSE] ELSE m IN
    [queues EXCEPT ![peer] =
        [writeRequestMap |-> {After(m) : m \in @.writeRequestMap},
         compareOrTruncateRequests |-> [k \in 1..Len(@.compareOrTruncateRequests) |->
                                           After(@.compareOrTruncateRequests[k])]]]

\* n takes the answer m to its call: other copies of the call and of its answer count no more.
TakeAnswer(n, m) ==
    LET Gone(x) == x.type = m.type
    IN  /\ network' = Abandon(Received(network, m), n, m.src, Gone)
        /\ received' = AbandonQueued(received, n, m.src, Gone)
        /\ UNCHANGED history

Request(n, peer, s, type, index) ==
    [kind |-> "request", type |-> type, src |-> n, dst |-> peer,
     term |-> s.dispatchers[peer].term, index |-> index, entry |-> Entry(s.log, index),
     commitIndex |-> s.committedIndex, awaited |-> TRUE]

\* Several entries in one APPEND, told of by the index of the first.
BatchRequest(n, peer, s, index, count) ==
    [kind |-> "request", type |-> "APPEND", src |-> n, dst |-> peer,
     term |-> s.dispatchers[peer].term, index |-> index, entries |-> SubSeq(s.log, index + 1, index + count),
     commitIndex |-> s.committedIndex, awaited |-> TRUE]

CommitRequest(n, peer, s) ==
    [kind |-> "request", type |-> "COMMIT", src |-> n, dst |-> peer,
     term |-> s.dispatchers[peer].term, commitIndex |-> s.committedIndex, awaited |-> FALSE]

\* Whether m carries several entries, or answers such a one.
IsBatch(m) == Batches /\ m.type = "APPEND"

\* The entries that an APPEND m carries, and the index of the last.
EntriesOf(m) == IF IsBatch(m) THEN m.entries ELSE <<m.entry>>
LastIndex(m) == m.index + Len(EntriesOf(m)) - 1

\* EntryHandler.buildResponse: the term and how many entries are an echo, the indexes are those of s.
Response(n, m, s, code) ==
    LET single == [kind |-> "response", type |-> m.type, src |-> n, dst |-> m.src, term |-> m.term,
                   index |-> m.index, code |-> code,
                   beginIndex |-> BeginIndex(s.log), endIndex |-> EndIndex(s.log)]
        batch  == [kind |-> "response", type |-> m.type, src |-> n, dst |-> m.src, term |-> m.term,
                   index |-> m.index, count |-> Len(m.entries), code |-> code,
                   beginIndex |-> BeginIndex(s.log), endIndex |-> EndIndex(s.log)]
    IN  IF IsBatch(m) THEN batch ELSE single

RequestMessage ==
    [kind: {"request"}, type: {"COMPARE", "TRUNCATE", "APPEND"}, src: Node, dst: Node,
     term: Nat, index: Nat, entry: LogEntry, commitIndex: Index, awaited: BOOLEAN]
BatchMessage ==
    [kind: {"request"}, type: {"APPEND"}, src: Node, dst: Node,
     term: Nat, index: Nat, entries: Seq(LogEntry), commitIndex: Index, awaited: BOOLEAN]
CommitMessage ==
    [kind: {"request"}, type: {"COMMIT"}, src: Node, dst: Node,
     term: Nat, commitIndex: Index, awaited: {FALSE}]
ResponseMessage ==
    [kind: {"response"}, type: {"COMPARE", "TRUNCATE", "APPEND"}, src: Node, dst: Node,
     term: Nat, index: Nat,
     code: {"SUCCESS", "INCONSISTENT_TERM", "INCONSISTENT_STATE", "REPEATED_PUSH", "NOT_FOLLOWER"},
     beginIndex: Index, endIndex: Index]
BatchResponseMessage ==
    [kind: {"response"}, type: {"APPEND"}, src: Node, dst: Node,
     term: Nat, index: Nat, count: Nat \ {0},
     code: {"SUCCESS", "INCONSISTENT_STATE", "REPEATED_PUSH"},
     beginIndex: Index, endIndex: Index]

\* EntryHandler: what was received and waits.  Of one index the first APPEND waits, the others do not.
Queues == [writeRequestMap: SUBSET (RequestMessage \cup BatchMessage),
           compareOrTruncateRequests: Seq(RequestMessage \cup CommitMessage)]
EmptyQueues == [writeRequestMap |-> {}, compareOrTruncateRequests |-> << >>]

-----------------------------------------------------------------------------
(* Bounds and faults.  TRUE here; a model overrides them.                  *)

MayElect(n)        == TRUE  \* n may stand for election
MayStepDown(n)     == TRUE  \* n may lose its leader, or its leadership, by time
MayVote(n)         == TRUE  \* n may ask for votes (VoteMessages)
MayBeat(n)         == TRUE  \* n may send heartbeats (VoteMessages)
MayTransfer(n)     == TRUE  \* n may be told to hand over its leadership (VoteMessages)
MayAppend(n)       == TRUE  \* a client may append at n
MaySend(n, peer)   == TRUE  \* one more request may be under way
MayLose(n, m)      == TRUE  \* the message m to n may be lost
MayDuplicate(n)    == TRUE  \* messages to n may be delivered twice
MayTimeOut(n, peer) == TRUE \* an RPC of n to peer may time out
MayTimeOutClient(n) == TRUE \* a client of n may have waited too long
MayFlush(n)        == TRUE  \* n may force its file to the disk
MayCrash(n)        == TRUE
MayShutdown(n)     == TRUE  \* n may be stopped in good order
MayLosePower(n)    == TRUE
MayCheckPoint(n)   == TRUE

-----------------------------------------------------------------------------
(* Steps.  Step: one node changes.  Send, Answer: and messages move.       *)

Step(n, s) ==
    /\ node' = [node EXCEPT ![n] = s]
    /\ UNCHANGED <<network, received, history>>

Send(n, s, m) ==
    /\ node' = [node EXCEPT ![n] = s]
    /\ network' = Sent(network, m)
    /\ UNCHANGED <<received, history>>

\* The requests that the EntryHandler of n may take next: first come COMPARE, TRUNCATE and COMMIT.
Requests(n) ==
    LET q == received[n] IN
    IF AtomicReceipt THEN Inbox(n)
    ELSE IF q.compareOrTruncateRequests # << >> THEN {Head(q.compareOrTruncateRequests)}
    ELSE q.writeRequestMap

\* The request m is taken from where it waited; net is the network with what is sent.
Taken(n, m, net) ==
    /\ network' = IF AtomicReceipt THEN Received(net, m) ELSE net
    /\ received' = IF AtomicReceipt THEN received
                   ELSE IF m.type = "APPEND" THEN [received EXCEPT ![n].writeRequestMap = @ \ {m}]
                   ELSE [received EXCEPT ![n].compareOrTruncateRequests = Tail(@)]

\* n handles the request m, is left as s, and its answer was built from `shown`.
Answer(n, m, s, shown, code) ==
    /\ node' = [node EXCEPT ![n] = s]
    /\ Taken(n, m, IF m.awaited THEN Sent(network, Response(n, m, shown, code)) ELSE network)
    /\ UNCHANGED history

IsRequest(m, type)  == m.kind = "request" /\ m.type = type
IsResponse(m, type) == m.kind = "response" /\ m.type = type

-----------------------------------------------------------------------------
(* Elections.                                                              *)

\* DLedgerConfig: who turns other candidates away while it takes over.  This is the default.
PreferredLeaders == {}

\* The MemberState of n, as it looks to a rule of an election.
Member(n, s) ==
    [id |-> n, currTerm |-> s.currTerm,
     hasVoted |-> s.currVoteFor # NoNode, currVoteFor |-> s.currVoteFor,
     hasLeader |-> s.leaderId # NoNode, leaderId |-> s.leaderId, isLeader |-> s.role = "LEADER",
     ledgerEndTerm |-> s.ledgerEndTerm, ledgerEndIndex |-> EndIndex(s.log),
     hasTransferee |-> s.election.transferee # NoNode,
     isTakingLeadership |-> n \in PreferredLeaders /\ s.election.termToTakeLeadership = s.currTerm]

\* What a candidate c, in the state s, tells of itself where vote requests are left out.
Candidacy(c, s) ==
    [src |-> c, term |-> s.currTerm, ledgerEndTerm |-> s.ledgerEndTerm, ledgerEndIndex |-> EndIndex(s.log)]

\* A node enters a term it was not in: its vote and its watermarks are of the past.
InTerm(s, term) ==
    IF term = s.currTerm THEN s
    ELSE [s EXCEPT !.currTerm = term, !.currVoteFor = NoNode, !.votes = {},
                   !.peerWaterMarks = NoMarks]

Follow(s, term, leader) ==
    [InTerm(s, term) EXCEPT !.role = "FOLLOWER", !.leaderId = leader]

Lead(n, s, term) ==
    [InTerm(s, term) EXCEPT !.role = "LEADER", !.leaderId = n, !.currVoteFor = n]

\* ACTION ElectLeader: n wins the votes of a quorum in a new term, which then follows it.
\* Source: DLedgerLeaderElector.maintainAsCandidate, handleVote, as one step.
ElectLeader(n) ==
    \E voters \in SUBSET Node :
    LET term == 1 + Max({node[q].currTerm : q \in voters}) IN
    /\ AtomicElection
    /\ MayElect(n)
    /\ n \in voters
    /\ IsQuorum(voters, Node)
    /\ \A q \in voters : /\ node[q].role # "DOWN"
                          /\ LedgerCode(Member(q, node[q]), Candidacy(n, node[n])) = "NONE"
    /\ node' = [q \in Node |->
                  IF q = n THEN Lead(n, node[n], term)
                  ELSE IF q \in voters
                  THEN [Follow(node[q], term, n) EXCEPT !.currVoteFor = n]
                  ELSE node[q]]
    /\ UNCHANGED <<network, received, history>>

\* ACTION ChangeToCandidate: n loses its leader or its leadership, or hears of a higher term.
\* Source: MemberState.changeToCandidate; the term is raised later, by NextTerm.
\* Votes count within one candidacy; a candidate that hears of a higher term goes on with its round.
ChangeToCandidate(n) ==
    /\ ~VoteMessages
    /\ MayStepDown(n)
    /\ node[n].role \in {"LEADER", "FOLLOWER", "CANDIDATE"}
    /\ Step(n, [node[n] EXCEPT !.role = "CANDIDATE", !.leaderId = NoNode,
                               !.votes = IF node[n].role = "CANDIDATE" THEN @ ELSE {}])

\* The next term of n, and those it may have heard of: up to the highest that some node is in.
HigherTerms(n) == LET next == node[n].currTerm + 1
                  IN  next..Max({next} \cup {node[q].currTerm : q \in Node})

\* ACTION NextTerm: a candidate raises its term, to the next one or to one it heard of.
\* Source: MemberState.nextTerm.
NextTerm(n) ==
    \E term \in HigherTerms(n) :
    /\ ~AtomicElection /\ ~VoteMessages
    /\ MayElect(n)
    /\ node[n].role = "CANDIDATE"
    /\ Step(n, InTerm(node[n], term))

\* By the rules that a vote request is answered by.
Accepts(n, candidate) ==
    LET asked == Candidacy(candidate, node[candidate])
    IN  /\ node[n].role # "DOWN"
        /\ node[candidate].role = "CANDIDATE"
        /\ VoteCode(Member(n, node[n]), asked, Node, n = candidate) = "ACCEPT"

\* ACTION SetCurrVoteFor: n accepts the candidate in its term.
\* Source: DLedgerLeaderElector.handleVote, the branch that ends in ACCEPT; roles are not checked.
SetCurrVoteFor(n) ==
    \E candidate \in Node :
    /\ ~AtomicElection /\ ~VoteMessages
    /\ Accepts(n, candidate)
    /\ LET votedFor == [node EXCEPT ![n].currVoteFor = candidate]
       IN  node' = [votedFor EXCEPT ![candidate].votes = @ \cup {n}]
    /\ UNCHANGED <<network, received, history>>

\* ACTION ChangeToLeader: a candidate that a quorum accepted becomes the leader of its term.
\* Source: MemberState.changeToLeader.
ChangeToLeader(n) ==
    /\ ~AtomicElection /\ ~VoteMessages
    /\ node[n].role = "CANDIDATE"
    /\ IsQuorum(node[n].votes, Node)
    /\ node' = [node EXCEPT ![n].role = "LEADER", ![n].leaderId = n]
    /\ elected' = elected \cup {[term |-> node[n].currTerm, leader |-> n]}
    /\ UNCHANGED <<network, received, committed, acknowledged>>

\* ACTION ChangeToFollower: n follows the leader of a term, its own or a higher one.
\* Source: DLedgerLeaderElector.handleHeartBeat; MemberState.changeToFollower.
\* With votes message by message a heartbeat may be late: the leader may lead no more.
ChangeToFollower(n) ==
    \E leader \in Peers(n) :
    /\ ~VoteMessages
    /\ node[n].role # "DOWN"
    /\ IF AtomicElection
       THEN /\ node[leader].role = "LEADER"
            /\ node[leader].currTerm >= node[n].currTerm
            /\ node[n].leaderId # leader \/ node[leader].currTerm > node[n].currTerm
            /\ Step(n, Follow(node[n], node[leader].currTerm, leader))
       ELSE /\ node[n].role = "CANDIDATE"
            /\ [term |-> node[n].currTerm, leader |-> leader] \in elected
            /\ Step(n, Follow(node[n], node[n].currTerm, leader))

-----------------------------------------------------------------------------
(* Elections, message by message (VoteMessages): DLedgerLeaderElector.     *)
(*                                                                         *)
(* One thread, the StateMaintainer, acts for the role its node has: it     *)
(* sends a round of vote requests or of heartbeats, waits for answers, and *)
(* draws its conclusion.  How long it waits is time, and so it may draw it *)
(* at any moment: which answers are in is a matter of delivery.  It alone  *)
(* raises the term, so a round ends in the term in which it began.         *)
(* Meanwhile the node answers the requests of others.                      *)
(*                                                                         *)
(* A handler is a pure operator: the node it leaves, and what it sends.    *)

VoteRequest(n, peer, s) ==
    [kind |-> "request", type |-> "VOTE", src |-> n, dst |-> peer, term |-> s.currTerm,
     ledgerEndTerm |-> s.election.round.ledgerEndTerm,
     ledgerEndIndex |-> s.election.round.ledgerEndIndex, awaited |-> TRUE]

HeartBeatRequest(n, peer, s) ==
    [kind |-> "request", type |-> "HEARTBEAT", src |-> n, dst |-> peer, term |-> s.currTerm,
     awaited |-> TRUE]

TransferRequest(n, peer, s) ==
    [kind |-> "request", type |-> "TRANSFER", src |-> n, dst |-> peer, term |-> s.currTerm,
     index |-> EndIndex(s.log), awaited |-> TRUE]

ElectionResponse(n, peer, type, term, code) ==
    [kind |-> "response", type |-> type, src |-> n, dst |-> peer, term |-> term, code |-> code]

ElectionMessage ==
    [kind: {"request"}, type: {"VOTE"}, src: Node, dst: Node, term: Nat,
     ledgerEndTerm: Index, ledgerEndIndex: Index, awaited: BOOLEAN]
    \cup [kind: {"request"}, type: {"HEARTBEAT"}, src: Node, dst: Node, term: Nat, awaited: BOOLEAN]
    \cup [kind: {"request"}, type: {"TRANSFER"}, src: Node, dst: Node, term: Nat, index: Index,
          awaited: BOOLEAN]
    \cup [kind: {"response"}, type: {"VOTE"}, src: Node, dst: Node, term: Nat, code: VoteCodes]
    \cup [kind: {"response"}, type: {"HEARTBEAT"}, src: Node, dst: Node, term: Index,
          code: HeartBeatCodes]
    \cup [kind: {"response"}, type: {"TRANSFER"}, src: Node, dst: Node, term: Nat,
          code: TransferCodes]

\* What is pushed waits in the queues of the EntryHandler, and holds up none of these.
IsElection(m) == m.type \in {"VOTE", "HEARTBEAT", "TRANSFER"}

\* Where they stand in an ordered channel.
Places(c) == {k \in 1..Len(c) : IsElection(c[k])}

Mail(n) ==
    LET First(c) == IF ~Fifo THEN {m \in DOMAIN c : IsElection(m)}
                    ELSE {c[k] : k \in {i \in Places(c) : \A j \in Places(c) : i <= j}}
    IN  IF VoteMessages THEN UNION {First(network[p][n]) : p \in Peers(n)} ELSE {}

\* n has heard m.
Heard(net, m) ==
    LET Without(c) == IF ~Fifo THEN Take(c, m)
                      ELSE LET k == Min(Places(c)) IN SubSeq(c, 1, k - 1) \o SubSeq(c, k + 1, Len(c))
    IN  [net EXCEPT ![m.src][m.dst] = Without(@)]

RECURSIVE SentAll(_, _)
SentAll(net, out) == IF out = << >> THEN net ELSE SentAll(Sent(net, Head(out)), Tail(out))

\* n asks all its peers at once.
SentToPeers(net, n, To(_)) == [net EXCEPT ![n] = [p \in Peers(n) |-> Put(@[p], To(p))]]

\* n is done with a round: it takes no more answers to it, from no one.
RoundOver(net, n, type) ==
    LET Gone(m) == m.type = type
    IN  [p \in Node |-> [q \in Peers(p) |->
            IF p = n THEN NotAwaited(net[p][q], Gone)
            ELSE IF q = n THEN WithoutAnswers(net[p][q], Gone)
            ELSE net[p][q]]]

\* n hears m and is left as the handler says.
Hear(n, m, handled) ==
    /\ node' = [node EXCEPT ![n] = handled.node]
    /\ network' = SentAll(Heard(network, m), handled.out)
    /\ UNCHANGED <<received, history>>

\* DLedgerConfig: how far behind a transferee may be.  This is the default.
MaxLeadershipTransferWaitIndex == 1000

\* TakeLeadershipTask.check: a change of role may tell the old leader what became of its transfer.
RoleChanged(n, s, term) ==
    LET toTake == s.election.termToTakeLeadership
        code   == TakeLeadershipCode(toTake, term, s.role)
    IN  IF code = "NONE" THEN [node |-> s, out |-> << >>]
        ELSE [node |-> [s EXCEPT !.election.termToTakeLeadership = -1,
                                 !.election.takesFrom = NoNode],
              out |-> <<ElectionResponse(n, s.election.takesFrom, "TRANSFER", toTake - 1, code)>>]

\* changeRoleToCandidate: the term is known from now on, and entered later.
ToCandidate(n, s, term) ==
    RoleChanged(n, [s EXCEPT !.role = "CANDIDATE", !.leaderId = NoNode,
                             !.election.knownMaxTerm = IF term > s.currTerm THEN Max({@, term})
                                                       ELSE @,
                             !.election.transferee = NoNode], term)

\* As above, by a message of a higher term: the StateMaintainer shall raise the term at once.
ToHigherTerm(n, s, term) == ToCandidate(n, [s EXCEPT !.election.needIncrease = TRUE], term)

\* changeRoleToFollower
ToFollower(n, s, leader) ==
    RoleChanged(n, [s EXCEPT !.role = "FOLLOWER", !.leaderId = leader,
                             !.election.voteNext = FALSE,
                             !.election.transferee = NoNode], s.currTerm)

\* changeRoleToLeader
ToLeader(n, s) == RoleChanged(n, [s EXCEPT !.role = "LEADER", !.leaderId = n], s.currTerm)

\* MemberState.nextTerm: to the highest term heard of, or else to the next.
Raised(s) ==
    [InTerm(s, Max({s.currTerm + 1, s.election.knownMaxTerm}))
        EXCEPT !.election.needIncrease = FALSE, !.election.knownMaxTerm = -1,
               !.election.voteNext = FALSE]

\* The StateMaintainer of n is not waiting for answers.
Idle(n) == node[n].election.round.type = "NONE"

\* ACTION IncreaseTerm: a candidate that was told of a higher term goes there, and asks for no votes yet.
\* Source: DLedgerLeaderElector.maintainAsCandidate, with needIncreaseTermImmediately.
IncreaseTerm(n) ==
    /\ VoteMessages
    /\ MayElect(n)
    /\ Idle(n)
    /\ node[n].role = "CANDIDATE"
    /\ node[n].election.needIncrease
    /\ Step(n, Raised(node[n]))

\* ACTION VoteForQuorumResponses: a candidate asks all for their votes.  It raises its term before only
\* if the last round told it so; and so a node that comes back asks in the term it went down in.
\* Source: DLedgerLeaderElector.maintainAsCandidate, voteForQuorumResponses.
VoteForQuorumResponses(n) ==
    LET raises == node[n].election.voteNext
        s      == IF raises THEN Raised(node[n]) ELSE node[n]
        round  == [NoRound EXCEPT !.type = "VOTE", !.maxTerm = s.currTerm,
                                  !.ledgerEndTerm = s.ledgerEndTerm,
                                  !.ledgerEndIndex = EndIndex(s.log)]
        asking == [s EXCEPT !.election.round = round]
        To(p)  == VoteRequest(n, p, asking)
    IN  /\ VoteMessages
        /\ MayVote(n)
        /\ raises => MayElect(n)
        /\ Idle(n)
        /\ node[n].role = "CANDIDATE"
        /\ ~node[n].election.needIncrease
        /\ node' = [node EXCEPT ![n] = asking]
        /\ network' = SentToPeers(network, n, To)
        /\ UNCHANGED <<received, history>>

\* handleVote.  Only a vote for its own term changes the voter's vote; only a higher term its role.
VoteHandled(n, s, m, self) ==
    LET code   == VoteCode(Member(n, s), m, Node, self)
        term   == IF code = "REJECT_TERM_SMALL_THAN_LEDGER" THEN s.ledgerEndTerm ELSE s.currTerm
        after  == CASE code = "ACCEPT" -> [node |-> [s EXCEPT !.currVoteFor = m.src], out |-> << >>]
                    [] code = "REJECT_TERM_NOT_READY" -> ToHigherTerm(n, s, m.term)
                    [] OTHER -> [node |-> s, out |-> << >>]
        answer == ElectionResponse(n, m.src, "VOTE", term, code)
    IN  [node |-> after.node, code |-> code,
         out |-> IF m.awaited /\ ~self THEN Append(after.out, answer) ELSE after.out]

\* ACTION HandleVote: a member decides on a candidate's request, and tells it why.
\* Source: DLedgerLeaderElector.handleVote.
HandleVote(n) ==
    \E m \in Mail(n) :
    /\ node[n].role # "DOWN"
    /\ IsRequest(m, "VOTE")
    /\ Hear(n, m, VoteHandled(n, node[n], m, FALSE))

\* An answer to a round is in.
Counted(s, peer, code, maxTerm) ==
    [s EXCEPT !.election.round.answers[peer] = code, !.election.round.maxTerm = maxTerm]

\* ACTION HandleOwnVote: a candidate asks itself, by the same rules.  Another may have been quicker.
\* Source: DLedgerLeaderElector.voteForQuorumResponses, handleVote with self.
HandleOwnVote(n) ==
    LET s     == node[n]
        round == s.election.round
        voted == VoteHandled(n, s, VoteRequest(n, n, s), TRUE)
    IN  /\ s.role # "DOWN"
        /\ round.type = "VOTE"
        /\ round.answers[n] = "NONE"
        /\ Step(n, Counted(voted.node, n, voted.code, round.maxTerm))

\* n takes the answer m to its round; another copy of the request, or of the answer, counts no more.
CountAnswer(n, m, type, maxTerm) ==
    LET Gone(x) == x.type = type
    IN  /\ node[n].election.round.type = type
        /\ node' = [node EXCEPT ![n] = Counted(@, m.src, m.code, maxTerm)]
        /\ network' = Abandon(Heard(network, m), n, m.src, Gone)
        /\ UNCHANGED <<received, history>>

\* ACTION HandleVoteResponse: a candidate hears how a member decided.
\* Source: DLedgerLeaderElector.maintainAsCandidate, where the answers are counted.
HandleVoteResponse(n) ==
    \E m \in Mail(n) :
    LET known == node[n].election.round.maxTerm IN
    /\ IsResponse(m, "VOTE")
    /\ CountAnswer(n, m, "VOTE", IF m.code \in TellsTerm THEN Max({known, m.term}) ELSE known)

\* ACTION ParseVoteResponses: a candidate draws its conclusion from the answers that are in.
\* Source: DLedgerLeaderElector.maintainAsCandidate, from PARSE_VOTE_RESULT on.
ParseVoteResponses(n) ==
    LET round   == node[n].election.round
        term    == node[n].currTerm
        outcome == VoteOutcome(term, round.maxTerm, round.answers)
        s       == [node[n] EXCEPT !.election.round = NoRound,
                                   !.election.voteNext =
                                       ParseResult(outcome) = "WAIT_TO_VOTE_NEXT"]
        after   == CASE outcome = "HIGHER_TERM" -> ToCandidate(n, s, round.maxTerm)
                     [] outcome = "ACCEPTED" -> ToLeader(n, s)
                     [] OTHER -> [node |-> s, out |-> << >>]
    IN  /\ round.type = "VOTE"
        /\ round.answers[n] # "NONE"
        /\ node' = [node EXCEPT ![n] = after.node]
        /\ network' = SentAll(RoundOver(network, n, "VOTE"), after.out)
        /\ elected' = IF outcome = "ACCEPTED" THEN elected \cup {[term |-> term, leader |-> n]}
                      ELSE elected
        /\ UNCHANGED <<received, committed, acknowledged>>

\* ACTION SendHeartbeats: a leader tells all that it leads.
\* Source: DLedgerLeaderElector.maintainAsLeader, sendHeartbeats.
SendHeartbeats(n) ==
    LET beating == [node[n] EXCEPT !.election.round = [NoRound EXCEPT !.type = "HEARTBEAT",
                                                                      !.answers[n] = "SUCCESS"]]
        To(p)   == HeartBeatRequest(n, p, beating)
    IN  /\ VoteMessages
        /\ MayBeat(n)
        /\ Idle(n)
        /\ node[n].role = "LEADER"
        /\ node' = [node EXCEPT ![n] = beating]
        /\ network' = SentToPeers(network, n, To)
        /\ UNCHANGED <<received, history>>

\* handleHeartBeat.  Who leads its term is followed by a member that knows no leader.
HeartBeatHandled(n, s, m) ==
    LET code   == HeartBeatCode(Member(n, s), m, Node)
        after  == CASE code = "TERM_NOT_READY" -> ToHigherTerm(n, s, m.term)
                    [] code = "SUCCESS" /\ s.leaderId = NoNode -> ToFollower(n, s, m.src)
                    [] OTHER -> [node |-> s, out |-> << >>]
        term   == IF code = "EXPIRED_TERM" THEN s.currTerm ELSE -1
        answer == ElectionResponse(n, m.src, "HEARTBEAT", term, code)
    IN  [node |-> after.node, out |-> IF m.awaited THEN Append(after.out, answer) ELSE after.out]

\* ACTION HandleHeartBeat: a member hears from a leader; it may be late, and its sender lead no more.
\* Source: DLedgerLeaderElector.handleHeartBeat.
HandleHeartBeat(n) ==
    \E m \in Mail(n) :
    /\ node[n].role # "DOWN"
    /\ IsRequest(m, "HEARTBEAT")
    /\ Hear(n, m, HeartBeatHandled(n, node[n], m))

\* ACTION HandleHeartBeatResponse: a leader hears who is with it.  Of several terms the last one counts.
\* Source: DLedgerLeaderElector.sendHeartbeats, where the answers are counted.
HandleHeartBeatResponse(n) ==
    \E m \in Mail(n) :
    /\ IsResponse(m, "HEARTBEAT")
    /\ CountAnswer(n, m, "HEARTBEAT",
                   IF m.code = "EXPIRED_TERM" THEN m.term ELSE node[n].election.round.maxTerm)

\* ACTION ParseHeartBeatResponses: a leader draws its conclusion.  expired: it has had no quorum for so
\* long (three periods, or ever since it leads) that it leads no more.
\* Source: DLedgerLeaderElector.sendHeartbeats, from the wait on.
ParseHeartBeatResponses(n) ==
    \E expired \in BOOLEAN :
    LET round   == node[n].election.round
        term    == node[n].currTerm
        outcome == HeartBeatOutcome(term, round.maxTerm, round.answers)
        s       == [node[n] EXCEPT !.election.round = NoRound]
        after   == CASE outcome = "HIGHER_TERM" -> ToCandidate(n, s, round.maxTerm)
                     [] outcome = "INCONSISTENT_LEADER" \/ expired -> ToCandidate(n, s, term)
                     [] OTHER -> [node |-> s, out |-> << >>]
    IN  /\ round.type = "HEARTBEAT"
        /\ expired => outcome = "NO_QUORUM" /\ MayStepDown(n)
        /\ node' = [node EXCEPT ![n] = after.node]
        /\ network' = SentAll(RoundOver(network, n, "HEARTBEAT"), after.out)
        /\ UNCHANGED <<received, history>>

\* ACTION HeartBeatTimeOut: a follower has heard of no leader for too long.
\* Source: DLedgerLeaderElector.maintainAsFollower.
HeartBeatTimeOut(n) ==
    LET after == ToCandidate(n, node[n], node[n].currTerm) IN
    /\ VoteMessages
    /\ MayStepDown(n)
    /\ Idle(n)
    /\ node[n].role = "FOLLOWER"
    /\ node' = [node EXCEPT ![n] = after.node]
    /\ network' = SentAll(network, after.out)
    /\ UNCHANGED <<received, history>>

-----------------------------------------------------------------------------
(* Transfer of leadership (VoteMessages).  The leader takes no appends and *)
(* asks a peer to take over; the peer waits until it holds what the leader *)
(* held then, and stands for election in the next term.                    *)

\* ACTION HandleLeadershipTransfer: the leader is told to hand over to a peer, and accepts.
\* Source: DLedgerServer.handleLeadershipTransfer and DLedgerLeaderElector's, at the leader.
HandleLeadershipTransfer(n) ==
    \E transferee \in Peers(n) :
    LET s          == node[n]
        fallBehind == EndIndex(s.log) - s.peerWaterMarks[transferee]
        call       == [transferee |-> transferee, term |-> s.currTerm]
        t          == [s EXCEPT !.election.transferee = transferee,
                                !.election.transfers = @ \cup {call}]
    IN  /\ VoteMessages
        /\ MayTransfer(n)
        /\ TransferCommandCode(Member(n, s), s.currTerm, fallBehind, MaxLeadershipTransferWaitIndex)
              = "SUCCESS"
        /\ call \notin s.election.transfers
        /\ Send(n, t, TransferRequest(n, transferee, s))

\* ACTION WaitToTakeLeadership: a peer is asked to take over, and waits until it holds all it needs.
\* Source: DLedgerServer.handleLeadershipTransfer, at the transferee.
WaitToTakeLeadership(n) ==
    \E m \in Mail(n) :
    LET s       == node[n]
        refusal == ElectionResponse(n, m.src, "TRANSFER", m.term, "INCONSISTENT_LEADER")
        waits   == [leader |-> m.src, term |-> m.term, index |-> m.index]
    IN  /\ s.role # "DOWN"
        /\ IsRequest(m, "TRANSFER")
        /\ s.election.waiting = NobodyWaits
        /\ Hear(n, m, IF s.leaderId = m.src
                      THEN [node |-> [s EXCEPT !.election.waiting = waits], out |-> << >>]
                      ELSE [node |-> s, out |-> <<refusal>>])

\* What a transferee that waits does, when it waits no more: answer, or else stand for election.
WaitOver(n, code) ==
    LET waiting == node[n].election.waiting
        s       == [node[n] EXCEPT !.election.waiting = NobodyWaits]
        takes   == [s EXCEPT !.election.termToTakeLeadership = waiting.term + 1,
                             !.election.takesFrom = waiting.leader]
        answer  == ElectionResponse(n, waiting.leader, "TRANSFER", waiting.term, code)
        after   == IF code = "NONE" THEN ToHigherTerm(n, takes, waiting.term + 1)
                   ELSE [node |-> s, out |-> <<answer>>]
    IN  /\ node' = [node EXCEPT ![n] = after.node]
        /\ network' = SentAll(network, after.out)
        /\ UNCHANGED <<received, history>>

\* ACTION HandleTakeLeadership: the transferee holds all it needs.  Who leads is not asked again.
\* Source: DLedgerLeaderElector.handleTakeLeadership.
HandleTakeLeadership(n) ==
    LET waiting == node[n].election.waiting IN
    /\ waiting # NobodyWaits
    /\ EndIndex(node[n].log) >= waiting.index
    /\ WaitOver(n, IF waiting.term = node[n].currTerm THEN "NONE" ELSE "INCONSISTENT_TERM")

\* ACTION TakeLeadershipTimeOut: the transferee has been behind for too long.
\* Source: DLedgerServer.handleLeadershipTransfer, at the transferee.
TakeLeadershipTimeOut(n) ==
    LET waiting == node[n].election.waiting IN
    /\ waiting # NobodyWaits
    /\ EndIndex(node[n].log) < waiting.index
    /\ WaitOver(n, "TAKE_LEADERSHIP_FAILED")

\* The call has its answer.  Only a leader forgets its transferee here; a change of role did already.
Transferred(s, call, code) ==
    LET forgets == /\ s.role = "LEADER"
                   /\ code # "SUCCESS" \/ s.currTerm = call.term
    IN  [s EXCEPT !.election.transfers = @ \ {call},
                  !.election.transferee = IF forgets THEN NoNode ELSE @]

\* ACTION HandleTransferResponse: the old leader hears what became of its transfer; late, it is ignored.
\* Source: DLedgerLeaderElector.handleLeadershipTransfer, from the answer on.
HandleTransferResponse(n) ==
    \E m \in Mail(n) :
    LET s    == node[n]
        call == [transferee |-> m.src, term |-> m.term]
    IN  /\ s.role # "DOWN"
        /\ IsResponse(m, "TRANSFER")
        /\ Hear(n, m, [node |-> IF call \in s.election.transfers THEN Transferred(s, call, m.code) ELSE s,
                       out |-> << >>])

\* ACTION TransferTimeOut: no answer came: to the leader this is one that says NETWORK_ERROR.
\* Source: DLedgerRpcNettyService.leadershipTransfer.
TransferTimeOut(n) ==
    \E call \in node[n].election.transfers :
    /\ MayTimeOut(n, call.transferee)
    /\ Step(n, Transferred(node[n], call, "NETWORK_ERROR"))

-----------------------------------------------------------------------------
(* The store.                                                              *)

\* DLedgerMmapFileStore.updateCommittedIndex: its tests in its order.  A higher term passes; the
\* old value is a floor; the clamp to the end comes last, and so may lower what was past the end.
UpdateCommittedIndex(s, term, newIndex) ==
    IF \/ newIndex = -1
       \/ EndIndex(s.log) = -1
       \/ term < s.currTerm
       \/ newIndex = s.committedIndex
    THEN s
    ELSE IF newIndex < s.committedIndex \/ newIndex < BeginIndex(s.log)
    THEN s
    ELSE [s EXCEPT !.committedIndex = Min({newIndex, EndIndex(s.log)})]

\* D7.  Published: what is written reaches the disk later.  Repaired: it is forced at once.
Forced(s)  == [s EXCEPT !.disk = s.log \o s.tail]
Written(s) == IF AsyncFlush = "published" THEN s ELSE Forced(s)

\* D10.  Published, in 0.1: the term n is in.  Repaired: the term of the entry.
EndTermOf(s, entry) == IF LedgerEndTerm = "published" THEN s.currTerm ELSE entry.term

\* Appending writes over as much of the tail, if there is any.
StoreEntries(s, entries) ==
    Written([s EXCEPT !.log = @ \o entries, !.tail = SubSeq(@, Len(entries) + 1, Len(@)),
                      !.ledgerEndTerm = EndTermOf(s, entries[Len(entries)])])
StoreEntry(s, entry) == StoreEntries(s, <<entry>>)

\* D5.  Published: what a cut leaves behind the end stays in the file.  Repaired: it is gone.
Behind(entries) == IF TruncatedTail = "published" THEN entries ELSE << >>

\* DLedgerMmapFileStore.truncate: keep an equal entry, write any other; the end is index.
\* Only the write position moves, back or ahead.  What it jumps over is what the file has there:
\* entries that were cut before, or nothing that can be read.
TruncateStore(s, index, entry) ==
    LET file  == s.log \o s.tail
        At(k) == IF k <= Len(file) THEN file[k] ELSE Hole
    IN  Written([s EXCEPT !.log = Append([k \in 1..index |-> At(k)], entry),
                          !.tail = Behind(SubSeq(file, index + 2, Len(file))),
                          !.ledgerEndTerm = EndTermOf(s, entry)])

-----------------------------------------------------------------------------
(* The leader: EntryDispatcher.                                            *)

\* DLedgerEntryPusher.updatePeerWaterMark: a watermark only grows.
UpdatePeerWaterMark(s, peer, term, index) ==
    IF term = s.currTerm /\ s.peerWaterMarks[peer] < index
    THEN [s EXCEPT !.peerWaterMarks[peer] = index]
    ELSE s

\* changeState(COMPARE): compareIndex starts anew only when APPEND is left.
ToCompare(d) ==
    [d EXCEPT !.type = "COMPARE",
              !.compareIndex = IF d.type = "APPEND" THEN -1 ELSE @,
              !.pendings = IF d.type = "APPEND" THEN {} ELSE @,
              !.truncateIndex = -1]

ToTruncate(d, index) ==
    [d EXCEPT !.type = "TRUNCATE", !.compareIndex = -1, !.truncateIndex = index]

ToAppend(s, peer, index) ==
    LET marked == UpdatePeerWaterMark(s, peer, s.dispatchers[peer].term, index)
    IN  [marked EXCEPT !.dispatchers[peer] =
            [@ EXCEPT !.type = "APPEND", !.compareIndex = -1, !.truncateIndex = -1,
                      !.writeIndex = index + 1]]

\* EntryDispatcher.checkAndFreshState: a dispatcher of another term starts with COMPARE.  Published: one
\* that was comparing goes on from its compareIndex, below which the peer may hold more by now, and the
\* TRUNCATE cuts that.  Repaired: it starts from the end of the log.
CheckAndFreshState(s, peer) ==
    LET d     == ToCompare(s.dispatchers[peer])
        fresh == [d EXCEPT !.term = s.currTerm,
                           !.compareIndex = IF StaleCompareIndex = "published" THEN @ ELSE -1]
    IN  IF s.dispatchers[peer].term = s.currTerm THEN s ELSE [s EXCEPT !.dispatchers[peer] = fresh]

Awaits(s, peer, type) == s.dispatchers[peer].awaiting = type

\* DLedgerConfig.maxPendingRequestsNum: so many clients may wait, and one more.
MaxPendingRequests == 10000
FuturesOf(s, term) == {f \in s.futures : f.entry.term = term}
IsPendingFull(s)   == Cardinality(FuturesOf(s, s.currTerm)) > MaxPendingRequests

\* A client waits for the last entry of s; it takes the place of one that waited for this index of the term.
WithFuture(s) ==
    LET f == [index |-> EndIndex(s.log), entry |-> Entry(s.log, EndIndex(s.log)), done |-> FALSE]
    IN  [s EXCEPT !.futures = {g \in @ : g.entry.term # f.entry.term \/ g.index # f.index} \cup {f}]

\* ACTION AppendAsLeader: the leader stores a client's entry and marks it as its own.
\* Source: DLedgerServer.handleAppend, DLedgerMmapFileStore.appendAsLeader, DLedgerEntryPusher.waitAck.
AppendAsLeader(n) ==
    \E value \in Value :
    LET s     == node[n]
        entry == [term |-> s.currTerm, value |-> value]
        t     == UpdatePeerWaterMark(StoreEntry(s, entry), n, s.currTerm, Len(s.log))
    IN  /\ s.role = "LEADER"
        /\ s.election.transferee = NoNode
        /\ MayAppend(n)
        /\ ~IsPendingFull(s)
        /\ node' = [node EXCEPT ![n] = IF Clients /\ Peers(n) # {} THEN WithFuture(t) ELSE t]
        /\ acknowledged' = IF Clients /\ Peers(n) = {}  \* a group of one answers at once
                            THEN acknowledged \cup {[index |-> Len(s.log), entry |-> entry]}
                            ELSE acknowledged
        /\ UNCHANGED <<network, received, elected, committed>>

\* ACTION AppendInBatch: the leader stores an entry of a client's batch that is not the last one, for which
\* AppendAsLeader follows, if n still leads: the client waits for that one, and that one is marked.
\* Source: DLedgerServer.handleAppend, its loop over a BatchAppendEntryRequest.
AppendInBatch(n) ==
    \E value \in Value :
    /\ Batches
    /\ node[n].role = "LEADER"
    /\ node[n].election.transferee = NoNode
    /\ MayAppend(n)
    /\ Step(n, StoreEntry(node[n], [term |-> node[n].currTerm, value |-> value]))

\* ACTION RefuseAppend: a client is told why nothing is appended, or, of a batch, nothing more; an empty
\* batch is refused last.
\* Source: DLedgerServer.handleAppend, its tests in its order, but for those of the group and the member.
RefuseAppend(n) ==
    \E code \in {"NOT_LEADER", "LEADER_TRANSFERRING", "LEADER_PENDING_FULL", "REQUEST_WITH_EMPTY_BODYS"} :
    /\ Clients
    /\ node[n].role # "DOWN"
    /\ code = IF node[n].role # "LEADER" THEN "NOT_LEADER"
              ELSE IF node[n].election.transferee # NoNode THEN "LEADER_TRANSFERRING"
              ELSE IF IsPendingFull(node[n]) THEN "LEADER_PENDING_FULL"
              ELSE "REQUEST_WITH_EMPTY_BODYS"
    /\ code = "REQUEST_WITH_EMPTY_BODYS" => Batches
    /\ UNCHANGED vars

\* ACTION DoCompare: the leader asks whether the peer holds the entry at compareIndex.
\* Source: EntryDispatcher.doCompare, up to the push.
DoCompare(n) ==
    \E peer \in Peers(n) :
    LET s       == CheckAndFreshState(node[n], peer)
        d       == s.dispatchers[peer]
        end     == EndIndex(s.log)
        revised == IF d.compareIndex > end \/ d.compareIndex < BeginIndex(s.log) THEN end
                   ELSE d.compareIndex
        t       == [s EXCEPT !.dispatchers[peer] =
                       [d EXCEPT !.compareIndex = revised, !.awaiting = "COMPARE"]]
    IN  /\ s.role = "LEADER"
        /\ d.type = "COMPARE"
        /\ Awaits(s, peer, "NOTHING")
        /\ HasEntry(s.log, revised)
        /\ MaySend(n, peer)
        /\ Send(n, t, Request(n, peer, t, "COMPARE", revised))

\* What a COMPARE answer leads to: the six outcomes of EntryDispatcher.doCompare.
AfterCompare(s, peer, m) ==
    LET d     == s.dispatchers[peer]
        begin == BeginIndex(s.log)
        \* The peer does not hold the entry: compare further down, or cut all.
        Down(index) == IF index < begin THEN [s EXCEPT !.dispatchers[peer] = ToTruncate(d, begin)]
                       ELSE [s EXCEPT !.dispatchers[peer].compareIndex = index]
    IN  IF m.code \notin {"SUCCESS", "INCONSISTENT_STATE"}
        THEN [s EXCEPT !.dispatchers[peer] = ToCompare(@)]
        ELSE IF m.code = "SUCCESS"
        THEN IF m.endIndex = d.compareIndex
             THEN ToAppend(s, peer, d.compareIndex)
             ELSE [s EXCEPT !.dispatchers[peer] = ToTruncate(d, d.compareIndex)]
        ELSE IF m.endIndex < begin \/ m.beginIndex > EndIndex(s.log)  \* the logs do not meet
        THEN [s EXCEPT !.dispatchers[peer] = ToTruncate(d, begin)]
        ELSE IF d.compareIndex < m.beginIndex
        THEN [s EXCEPT !.dispatchers[peer] = ToTruncate(d, begin)]
        ELSE IF d.compareIndex > m.endIndex
        THEN Down(m.endIndex)
        ELSE Down(d.compareIndex - 1)

\* ACTION HandleCompareResponse: the dispatcher learns what the peer answered.
\* Source: EntryDispatcher.doCompare, from the answer on.
HandleCompareResponse(n) ==
    \E m \in Inbox(n) :
    LET s        == node[n]
        answered == [s EXCEPT !.dispatchers[m.src].awaiting = "NOTHING"]
    IN  /\ s.role # "DOWN"
        /\ IsResponse(m, "COMPARE")
        /\ Awaits(s, m.src, "COMPARE")
        /\ node' = [node EXCEPT ![n] = AfterCompare(answered, m.src, m)]
        /\ TakeAnswer(n, m)

\* ACTION DoTruncate: the leader tells the peer where its log must end.
\* Source: EntryDispatcher.doTruncate, up to the push.
DoTruncate(n) ==
    \E peer \in Peers(n) :
    LET s == node[n]
        d == s.dispatchers[peer]
        t == [s EXCEPT !.dispatchers[peer].awaiting = "TRUNCATE"]
    IN  /\ s.role # "DOWN"
        /\ d.type = "TRUNCATE"
        /\ d.truncateIndex # -1
        /\ HasEntry(s.log, d.truncateIndex)
        /\ Awaits(s, peer, "NOTHING")
        /\ MaySend(n, peer)
        /\ Send(n, t, Request(n, peer, t, "TRUNCATE", d.truncateIndex))

\* ACTION HandleTruncateResponse: success opens APPEND, anything else begins again.
\* Source: EntryDispatcher.doTruncate, from the answer on; doWork's handler of exceptions.
HandleTruncateResponse(n) ==
    \E m \in Inbox(n) :
    LET s        == node[n]
        answered == [s EXCEPT !.dispatchers[m.src].awaiting = "NOTHING"]
    IN  /\ s.role # "DOWN"
        /\ IsResponse(m, "TRUNCATE")
        /\ Awaits(s, m.src, "TRUNCATE")
        /\ node' = [node EXCEPT ![n] =
                      IF m.code = "SUCCESS" THEN ToAppend(answered, m.src, m.index)
                      ELSE [answered EXCEPT !.dispatchers[m.src] = ToCompare(@)]]
        /\ TakeAnswer(n, m)

\* The dispatcher of n for peer is in its loop in APPEND.
Appending(n, peer) ==
    LET d == node[n].dispatchers[peer] IN
    /\ node[n].role = "LEADER"
    /\ d.term = node[n].currTerm
    /\ d.type = "APPEND"
    /\ Awaits(node[n], peer, "NOTHING")

\* EntryDispatcher.maxPendingSize: so many pushes may be unanswered.
MaxPendingSize == 1000
IsFull(d)      == PendingMap /\ Cardinality(d.pendings) >= MaxPendingSize

\* The dispatcher d pushed so many entries from index on by APPEND.
Pushed(d, index, count) ==
    IF ~PendingMap THEN d
    ELSE [d EXCEPT !.pendings = {p \in @ : p.index # index} \cup {[index |-> index, count |-> count]}]

\* ACTION DoAppend: the leader pushes the entry at writeIndex.
\* Source: EntryDispatcher.doAppend, doAppendInner.
DoAppend(n) ==
    \E peer \in Peers(n) :
    LET s     == node[n]
        index == s.dispatchers[peer].writeIndex
        t     == [s EXCEPT !.dispatchers[peer] = [Pushed(@, index, 1) EXCEPT !.writeIndex = index + 1]]
    IN  /\ ~Batches
        /\ Appending(n, peer)
        /\ MaySend(n, peer)
        /\ ~IsFull(s.dispatchers[peer])
        /\ HasEntry(s.log, index)
        /\ Send(n, t, Request(n, peer, t, "APPEND", index))

\* ACTION DoBatchAppend: the leader pushes so many entries from writeIndex on in one APPEND: all there are,
\* or as many as make a batch of full size.
\* Source: EntryDispatcher.doBatchAppend, doBatchAppendInner, sendBatchAppendEntryRequest.
DoBatchAppend(n) ==
    \E peer \in Peers(n) : \E count \in 1..EndIndex(node[n].log) - node[n].dispatchers[peer].writeIndex + 1 :
    LET s     == node[n]
        index == s.dispatchers[peer].writeIndex
        t     == [s EXCEPT !.dispatchers[peer] = [Pushed(@, index, count) EXCEPT !.writeIndex = index + count]]
    IN  /\ Batches
        /\ Appending(n, peer)
        /\ MaySend(n, peer)
        /\ ~IsFull(s.dispatchers[peer])
        /\ \A i \in index..index + count - 1 : HasEntry(s.log, i)
        /\ Send(n, t, BatchRequest(n, peer, t, index, count))

\* ACTION DoCheckAppendResponse: the leader pushes the first unanswered entry once more.
\* Source: EntryDispatcher.doCheckAppendResponse.
DoCheckAppendResponse(n) ==
    \E peer \in Peers(n) :
    LET s     == node[n]
        d     == s.dispatchers[peer]
        index == s.peerWaterMarks[peer] + 1
    IN  /\ ~Batches
        /\ Appending(n, peer)
        /\ MaySend(n, peer)
        /\ d.writeIndex > EndIndex(s.log) \/ IsFull(d)
        /\ PendingMap => [index |-> index, count |-> 1] \in d.pendings
        /\ HasEntry(s.log, index)
        /\ Send(n, s, Request(n, peer, s, "APPEND", index))

\* ACTION DoCheckBatchAppendResponse: the leader pushes the first unanswered batch once more.
\* Source: EntryDispatcher.doCheckBatchAppendResponse.
DoCheckBatchAppendResponse(n) ==
    \E peer \in Peers(n) :
    LET s       == node[n]
        d       == s.dispatchers[peer]
        index   == s.peerWaterMarks[peer] + 1
        pending == {p \in d.pendings : p.index = index}
        count   == (CHOOSE p \in pending : TRUE).count
    IN  /\ Batches
        /\ Appending(n, peer)
        /\ MaySend(n, peer)
        /\ d.writeIndex > EndIndex(s.log) \/ IsFull(d)
        /\ pending # {}
        /\ \A i \in index..index + count - 1 : HasEntry(s.log, i)
        /\ Send(n, s, BatchRequest(n, peer, s, index, count))

\* ACTION CheckLeak: the dispatcher forgets what it pushed below the peer's watermark; of batches, what
\* it pushed up to there.
\* Source: EntryDispatcher.doAppend and doBatchAppend, once a second or when the map is full.
CheckLeak(n) ==
    \E peer \in Peers(n) :
    LET mark     == node[n].peerWaterMarks[peer]
        Stays(p) == IF Batches THEN p.index + p.count - 1 > mark ELSE p.index >= mark
    IN  /\ PendingMap
        /\ Appending(n, peer)
        /\ node[n].dispatchers[peer].writeIndex <= EndIndex(node[n].log)
        /\ Step(n, [node[n] EXCEPT !.dispatchers[peer].pendings = {p \in @ : Stays(p)}])

\* ACTION HandleAppendResponse: a stored entry raises the peer's watermark; an inconsistent one
\* sends the dispatcher back to COMPARE, whatever it is doing; REPEATED_PUSH does nothing.
\* Source: EntryDispatcher.doAppendInner and sendBatchAppendEntryRequest, the callbacks.
HandleAppendResponse(n) ==
    \E m \in Inbox(n) :
    LET s        == node[n]
        answered == [s EXCEPT !.dispatchers[m.src].pendings = {p \in @ : p.index # m.index}]
        last     == IF IsBatch(m) THEN m.index + m.count - 1 ELSE m.index
    IN  /\ s.role # "DOWN"
        /\ IsResponse(m, "APPEND")
        /\ node' = [node EXCEPT ![n] =
                      CASE m.code = "SUCCESS" -> UpdatePeerWaterMark(answered, m.src, m.term, last)
                        [] m.code = "INCONSISTENT_STATE" -> [s EXCEPT !.dispatchers[m.src] = ToCompare(@)]
                        [] m.code = "REPEATED_PUSH" -> s]
        /\ network' = Received(network, m)
        /\ UNCHANGED <<received, history>>

\* ACTION DoCommit: nothing to push, so the leader tells its committed index.
\* Source: EntryDispatcher.doCommit; the answer is ignored.
DoCommit(n) ==
    \E peer \in Peers(n) :
    /\ Appending(n, peer)
    /\ MaySend(n, peer)
    /\ node[n].dispatchers[peer].writeIndex > EndIndex(node[n].log)
    /\ Send(n, node[n], CommitRequest(n, peer, node[n]))

\* ACTION PushTimeOut: a COMPARE or TRUNCATE gets no answer, and its dispatcher begins again.
\* Source: EntryDispatcher.doWork's handler of exceptions; a late answer is ignored.
PushTimeOut(n) ==
    \E peer \in Peers(n) :
    LET s       == node[n]
        waiting == s.dispatchers[peer].awaiting
        t       == [s EXCEPT !.dispatchers[peer] = [ToCompare(@) EXCEPT !.awaiting = "NOTHING"]]
        Gone(m) == m.type = waiting
    IN  /\ MayTimeOut(n, peer)
        /\ s.role # "DOWN"
        /\ waiting # "NOTHING"
        /\ node' = [node EXCEPT ![n] = t]
        /\ network' = Abandon(network, n, peer, Gone)
        /\ received' = AbandonQueued(received, n, peer, Gone)
        /\ UNCHANGED history

-----------------------------------------------------------------------------
(* The leader: QuorumAckChecker.                                           *)

\* D1.  Published: any entry that a quorum stores.  Repaired (0.4.0): one of the leader's own term.
QuorumIndex(s) ==
    LET index == QuorumIndexBySorting(s.peerWaterMarks) IN
    IF PriorTermCommit = "published" \/ TermAt(s.log, index) = s.currTerm THEN index ELSE -1

\* What a pass has read; of a pass that was not begun: nothing.
InPass(s) == s.checking # NoPass

\* Clients of other terms than the current one are told TERM_CHANGED.
CleanFutures(s) == [s EXCEPT !.futures = FuturesOf(s, s.currTerm)]

\* D13.  Published: the state machine is told the index that was asked for.  Repaired: what the store committed.
Tell(s, index) ==
    IF ~Applies THEN s
    ELSE [s EXCEPT !.toldIndex = Max({@, IF ApplyUnclamped = "published" THEN index ELSE s.committedIndex})]

\* D15.  Published: clients are answered up to the quorum index.  Repaired: up to what is committed.
AckIndex(s, index) ==
    IF AckByQuorumIndex = "published" THEN index ELSE Min({index, s.committedIndex})

\* The futures of the term that a pass answers: from `to` downwards, above the last pass, without a gap.
\* Where there is a gap, all below `to` are answered as well (needCheck).
ToAnswer(s, term, to) ==
    LET mine    == {f.index : f \in FuturesOf(s, term)}
        run     == {i \in mine : s.lastQuorumIndex < i /\ i <= to /\ \A k \in i..to : k \in mine}
        whole   == to <= s.lastQuorumIndex \/ s.lastQuorumIndex + 1 \in run
        elapsed == IF whole THEN {} ELSE {i \in mine : i < to}
    IN  IF Applies THEN {} ELSE run \cup elapsed

\* What the clients are told whose futures of this term are at these indexes, if they still wait.
Success(s, term, indexes) ==
    {[index |-> f.index, entry |-> f.entry] :
        f \in {g \in FuturesOf(s, term) : g.index \in indexes /\ ~g.done}}

WithoutFutures(s, term, indexes) ==
    [s EXCEPT !.futures = {f \in @ : f.entry.term # term \/ f.index \notin indexes}]

\* A pass that read `check` stores the committed index, answers clients, and tells the state machine.
ActOn(n, s, check) ==
    LET t      == UpdateCommittedIndex(s, check.term, check.index)
        ack    == AckIndex(t, check.index)
        acked  == ToAnswer(t, check.term, ack)
        new    == {[term |-> check.term, index |-> i, entry |-> Entry(s.log, i)] :
                      i \in s.committedIndex + 1 .. t.committedIndex}
        told   == Tell(WithoutFutures(t, check.term, acked), check.index)
    IN  /\ node' = [node EXCEPT ![n] = [told EXCEPT !.lastQuorumIndex = ack, !.checking = NoPass]]
        /\ committed' = committed \cup new
        /\ acknowledged' = acknowledged \cup Success(t, check.term, acked)
        /\ UNCHANGED <<network, received, elected>>

\* ACTION QuorumAckChecker: the leader looks at what a quorum stores; a pass of one step commits it.
\* Source: QuorumAckChecker.doWork; up to the reading of the watermarks.
QuorumAckChecker(n) ==
    LET s     == CleanFutures(node[n])
        check == [term |-> s.currTerm, index |-> QuorumIndex(s)]
    IN  /\ s.role = "LEADER"
        /\ ~InPass(s)
        /\ IF AtomicQuorumCheck THEN ActOn(n, s, check)
           ELSE Step(n, [s EXCEPT !.checking = check])

\* ACTION ActOnQuorumIndex: what a pass read is committed, though the node may lead no more.
\* Source: QuorumAckChecker.doWork, from updateCommittedIndex on.
ActOnQuorumIndex(n) ==
    /\ node[n].role # "DOWN"
    /\ InPass(node[n])
    /\ ActOn(n, node[n], node[n].checking)

\* ACTION RefreshOwnWaterMark: the leader marks all it stores as its own, once a second.
\* Source: QuorumAckChecker.doWork, beside the leak check.
RefreshOwnWaterMark(n) ==
    LET s == node[n] IN
    /\ s.role = "LEADER"
    /\ Step(n, UpdatePeerWaterMark(s, n, s.currTerm, EndIndex(s.log)))

\* ACTION CheckResponseFuturesTimeout: of the clients that wait without a gap behind the quorum index, the
\* first that was not told so yet waited too long.
\* Source: DLedgerEntryPusher.checkResponseFuturesTimeout: WAIT_QUORUM_ACK_TIMEOUT.
CheckResponseFuturesTimeout(n) ==
    LET s       == node[n]
        first   == (IF Applies THEN s.lastAppliedIndex ELSE s.lastQuorumIndex) + 1
        mine    == FuturesOf(s, s.currTerm)
        reached == {f \in mine : f.index >= first /\ \A k \in first..f.index : \E g \in mine : g.index = k}
        late    == {f \in reached : ~f.done /\ \A g \in reached : g.index < f.index => g.done}
    IN  /\ MayTimeOutClient(n)
        /\ s.role = "LEADER"
        /\ late # {}
        /\ Step(n, [s EXCEPT !.futures = (@ \ late) \cup {[f EXCEPT !.done = TRUE] : f \in late}])

-----------------------------------------------------------------------------
(* The state machine: StateMachineCaller.                                  *)

\* ACTION DoCommitted: the state machine applies what it was told; clients of these entries are answered.
\* Source: StateMachineCaller.doCommitted; an entry that is not there ends it, and it begins again later.
DoCommitted(n) ==
    LET s       == node[n]
        indexes == s.lastAppliedIndex + 1 .. s.toldIndex
        there   == {i \in indexes : \A k \in s.lastAppliedIndex + 1 .. i : HasEntry(s.log, k)}
        t       == WithoutFutures(s, s.currTerm, there)
    IN  /\ s.role # "DOWN"
        /\ indexes # {}
        /\ node' = [node EXCEPT ![n] = IF there # indexes THEN t
                                       ELSE [t EXCEPT !.lastAppliedIndex = s.toldIndex]]
        /\ acknowledged' = acknowledged \cup Success(s, s.currTerm, there)
        /\ UNCHANGED <<network, received, elected, committed>>

-----------------------------------------------------------------------------
(* The follower: EntryHandler, which works only while its node follows.    *)

\* ACTION HandlePush: a request is put where it waits for the EntryHandler.  A COMPARE or TRUNCATE clears
\* the APPENDs that wait; of two APPENDs at one index the second is told REPEATED_PUSH.
\* Source: EntryHandler.handlePush.
HandlePush(n) ==
    \E m \in Inbox(n) :
    LET q        == received[n]
        repeated == m.type = "APPEND" /\ \E x \in q.writeRequestMap : x.index = m.index
        queued   == [writeRequestMap |-> IF m.type = "COMMIT" THEN q.writeRequestMap ELSE {},
                     compareOrTruncateRequests |-> Append(q.compareOrTruncateRequests, m)]
        after    == CASE m.type # "APPEND" -> queued
                      [] m.type = "APPEND" /\ repeated -> q
                      [] m.type = "APPEND" /\ ~repeated -> [q EXCEPT !.writeRequestMap = @ \cup {m}]
        taken    == Received(network, m)
    IN  /\ ~AtomicReceipt
        /\ m.kind = "request" /\ ~IsElection(m)
        /\ node[n].role # "DOWN"
        /\ received' = [received EXCEPT ![n] = after]
        /\ network' = IF repeated /\ m.awaited THEN Sent(taken, Response(n, m, node[n], "REPEATED_PUSH"))
                      ELSE taken
        /\ UNCHANGED <<node, history>>

\* ACTION ClearCompareOrTruncateRequests: who does not follow refuses what until 0.2.7 waits for it to follow.
\* Source: EntryHandler.clearCompareOrTruncateRequestsIfNeed, of 0.3.0 and later.
ClearCompareOrTruncateRequests(n) ==
    \E m \in Requests(n) :
    /\ NotFollower
    /\ node[n].role \notin {"FOLLOWER", "DOWN"}
    /\ m.kind = "request" /\ m.type \in {"COMPARE", "TRUNCATE", "COMMIT"}
    /\ Answer(n, m, node[n], node[n], "NOT_FOLLOWER")

Handles(n, m, type) == node[n].role = "FOLLOWER" /\ IsRequest(m, type)

FromItsLeader(s, m) == m.term = s.currTerm /\ m.src = s.leaderId

\* D2.  Published: COMPARE and COMMIT are obeyed whatever their term and leader.
Obeys(s, m) == PushTermCheck = "published" \/ FromItsLeader(s, m)

\* DLedgerEntryPusher.updateCommittedIndex: the store first, then the state machine.
LearnCommitted(s, m) == Tell(UpdateCommittedIndex(s, m.term, m.commitIndex), m.commitIndex)

\* ACTION HandleDoCompare: does the follower hold this entry?
\* Source: EntryHandler.handleDoCompare.
HandleDoCompare(n) ==
    \E m \in Requests(n) :
    LET s     == node[n]
        equal == HasEntry(s.log, m.index) /\ Entry(s.log, m.index) = m.entry
    IN  /\ Handles(n, m, "COMPARE")
        /\ Answer(n, m, s, s, CASE ~Obeys(s, m) -> "INCONSISTENT_TERM"
                                [] Obeys(s, m) /\ equal -> "SUCCESS"
                                [] Obeys(s, m) /\ ~equal -> "INCONSISTENT_STATE")

\* D3.  Repaired: the log holds the entry, and its last one is of this leader's term: what is behind the
\* entry came from this leader, after the COMPARE that the TRUNCATE follows from.
IsLateTruncate(s, m) ==
    /\ LateTruncate = "repaired"
    /\ HasEntry(s.log, m.index) /\ Entry(s.log, m.index) = m.entry
    /\ EndTerm(s.log) = m.term

\* D6.  Published: committedIndex does not matter.  Repaired: what is committed is not cut.
MayTruncate(s, m) ==
    /\ FromItsLeader(s, m)
    /\ CommitPastEnd = "published" \/ m.index >= CommittedEnd(s) \/ IsLateTruncate(s, m)

\* ACTION HandleDoTruncate: the follower's log ends at this entry from now on.
\* Source: EntryHandler.handleDoTruncate, DLedgerMmapFileStore.truncate; an index beyond the end passes.
HandleDoTruncate(n) ==
    \E m \in Requests(n) :
    LET s == node[n]
        t == IF IsLateTruncate(s, m) THEN s ELSE TruncateStore(s, m.index, m.entry)
    IN  /\ Handles(n, m, "TRUNCATE")
        /\ IF MayTruncate(s, m)
           THEN Answer(n, m, LearnCommitted(t, m), t, "SUCCESS")
           ELSE Answer(n, m, s, s, "INCONSISTENT_STATE")

\* What the APPEND m carries is next, and is stored if it is from the leader of n.
AppendsNext(n, m) ==
    LET s == node[n]
        t == StoreEntries(s, EntriesOf(m))
    IN  /\ Handles(n, m, "APPEND")
        /\ m.index = EndIndex(s.log) + 1
        /\ IF FromItsLeader(s, m)
           THEN Answer(n, m, LearnCommitted(t, m), t, "SUCCESS")
           ELSE Answer(n, m, s, s, "INCONSISTENT_STATE")

\* ACTION HandleDoAppend: the follower stores the next entry.  The entry before is not checked.
\* Source: EntryHandler.handleDoAppend, DLedgerMmapFileStore.appendAsFollower.
HandleDoAppend(n) ==
    \E m \in Requests(n) : ~Batches /\ AppendsNext(n, m)

\* ACTION HandleDoBatchAppend: the follower stores the next entries.
\* Source: EntryHandler.handleDoBatchAppend.
HandleDoBatchAppend(n) ==
    \E m \in Requests(n) : Batches /\ AppendsNext(n, m)

\* ACTION CheckAppendFuture: an entry is not the next one.  One that is stored already is compared
\* (fall behind); for one beyond a gap the leader is told to compare (fast forward), and the entry
\* stays in the queue, its answer given.  Of a batch the last entry tells; it may begin before the end.
\* Source: EntryHandler.checkAppendFuture.
CheckAppendFuture(n) ==
    \E m \in Requests(n) :
    LET s       == node[n]
        equal   == \A i \in m.index..LastIndex(m) :
                      HasEntry(s.log, i) /\ Entry(s.log, i) = EntriesOf(m)[i - m.index + 1]
        waiting == [m EXCEPT !.awaited = FALSE]
    IN  /\ Handles(n, m, "APPEND")
        /\ \A x \in received[n].writeRequestMap : x.index # EndIndex(s.log) + 1
        /\ \/ /\ LastIndex(m) <= EndIndex(s.log)
              /\ Answer(n, m, s, s, IF equal THEN "SUCCESS" ELSE "INCONSISTENT_STATE")
           \/ /\ LastIndex(m) > EndIndex(s.log)
              /\ m.index # EndIndex(s.log) + 1
              /\ m.awaited
              /\ LET told == Sent(network, Response(n, m, s, "INCONSISTENT_STATE"))
                 IN  IF AtomicReceipt
                     THEN /\ network' = Sent(Received(told, m), waiting)
                          /\ UNCHANGED received
                     ELSE /\ network' = told
                          /\ received' = [received EXCEPT ![n].writeRequestMap = (@ \ {m}) \cup {waiting}]
              /\ UNCHANGED <<node, history>>

\* ACTION HandleDoCommit: the follower learns the leader's committed index.
\* Source: EntryHandler.handleDoCommit.
HandleDoCommit(n) ==
    \E m \in Requests(n) :
    LET s == node[n] IN
    /\ Handles(n, m, "COMMIT")
    /\ Answer(n, m, IF Obeys(s, m) THEN LearnCommitted(s, m) ELSE s,
              s, "SUCCESS")

-----------------------------------------------------------------------------
(* The environment.                                                        *)

\* ACTION PersistCheckPoint: committedIndex goes to the checkpoint file.
\* Source: DLedgerMmapFileStore.persistCheckPoint.
PersistCheckPoint(n) ==
    /\ MayCheckPoint(n)
    /\ node[n].role # "DOWN"
    /\ Step(n, [node[n] EXCEPT !.checkPoint = node[n].committedIndex])

\* ACTION FlushDataService: the data file is forced to the disk.
\* Source: DLedgerMmapFileStore.FlushDataService.doWork.
FlushDataService(n) ==
    /\ MayFlush(n)
    /\ node[n].role # "DOWN"
    /\ Step(n, Forced(node[n]))

\* What a process leaves behind: its files.  committedIndex keeps its last value while the node is
\* down: it is what it told others.
Down(n, s) ==
    [InitNode(n) EXCEPT !.role = "DOWN", !.currTerm = s.currTerm, !.currVoteFor = s.currVoteFor,
                        !.log = s.log, !.tail = s.tail, !.disk = s.disk,
                        !.ledgerEndTerm = s.ledgerEndTerm, !.checkPoint = s.checkPoint,
                        !.committedIndex = s.committedIndex]

\* The process of n ends and leaves the files of s; no one at n waits for an answer any more.
Dies(n, s) ==
    LET All(m)       == TRUE
        Silent(p, q) == IF p = n THEN NotAwaited(network[p][q], All)
                        ELSE IF q = n THEN WithoutAnswers(network[p][q], All)
                        ELSE network[p][q]
    IN  /\ node[n].role # "DOWN"
        /\ node' = [node EXCEPT ![n] = Down(n, s)]
        /\ network' = [p \in Node |-> [q \in Peers(p) |-> Silent(p, q)]]
        /\ received' = [p \in Node |-> IF p = n THEN EmptyQueues
                                       ELSE AbandonQueued(received, n, p, All)[p]]
        /\ UNCHANGED history

\* ACTION Crash: the process dies, what it wrote survives (kill -9).
Crash(n) ==
    /\ MayCrash(n)
    /\ Dies(n, node[n])

\* ACTION Shutdown: the process is stopped in good order: the file is forced, the checkpoint written.
\* Source: DLedgerMmapFileStore.shutdown.
Shutdown(n) ==
    /\ MayShutdown(n)
    /\ Dies(n, [Forced(node[n]) EXCEPT !.checkPoint = node[n].committedIndex])

\* ACTION LosePower: the machine dies.  Of what was written and not forced the first entries may
\* have reached the disk; from `kept` on the file is as it was last forced.
LosePower(n) ==
    \E kept \in 0..Len(node[n].log) + Len(node[n].tail) :
    LET s    == node[n]
        file == s.log \o s.tail
        left == SubSeq(file, 1, kept) \o SubSeq(s.disk, kept + 1, Len(s.disk))
        end  == Min({Len(s.log), Len(left)})
    IN  /\ MayLosePower(n)
        /\ Dies(n, [s EXCEPT !.log = SubSeq(left, 1, end), !.tail = SubSeq(left, end + 1, Len(left)),
                             !.disk = left, !.committedIndex = Min({@, end - 1})])

\* ACTION CrashInPersistTerm: the process dies while it writes its term and its vote: the old file is
\* removed, and the new one has not got its name yet.  D8.  Repaired: the new file replaces the old one.
\* Source: MemberState.persistTerm, called by nextTerm and setCurrVoteFor; IOUtils.string2File.
CrashInPersistTerm(n) ==
    /\ VoteFile = "published"
    /\ ~AtomicElection
    /\ MayCrash(n)
    /\ \/ node[n].role = "CANDIDATE"
       \/ ~VoteMessages /\ \E candidate \in Node : Accepts(n, candidate)
       \/ \E m \in Mail(n) : IsRequest(m, "VOTE") /\ VoteHandled(n, node[n], m, FALSE).code = "ACCEPT"
    /\ Dies(n, [node[n] EXCEPT !.currTerm = 0, !.currVoteFor = NoNode])

\* ACTION CrashInPersistCheckPoint: the process dies while it writes its checkpoint, a file like the other.
\* Source: DLedgerMmapFileStore.persistCheckPoint; IOUtils.string2File.
CrashInPersistCheckPoint(n) ==
    /\ VoteFile = "published"
    /\ MayCrash(n)
    /\ MayCheckPoint(n)
    /\ Dies(n, [node[n] EXCEPT !.checkPoint = -1])

\* How many entries the scan of the data file finds: it stops where it can read none, or one of a
\* lower term than the entry before; it goes on behind the end of the log.
Scanned(s) ==
    LET file == s.log \o s.tail
        Stops == {k \in 1..Len(file) :
                    \/ file[k] = Hole
                    \/ k > 1 /\ file[k].term < file[k - 1].term}
    IN  IF Stops = {} THEN Len(file) ELSE Min(Stops) - 1

\* ACTION Restart: recovery scans the file, takes `resurrected` entries of the tail for entries of the
\* log, and replays the checkpoint through updateCommittedIndex.
\* Source: DLedgerMmapFileStore.recover.
Restart(n) ==
    \E resurrected \in 0..Max({0, Scanned(node[n]) - Len(node[n].log)}) :
    LET s    == node[n]
        file == s.log \o s.tail
        end  == Min({Len(s.log), Scanned(s)}) + resurrected
        log  == SubSeq(file, 1, end)
        t    == [s EXCEPT !.role = "CANDIDATE", !.committedIndex = -1, !.log = log,
                          !.tail = Behind(SubSeq(file, end + 1, Len(file))),
                          !.ledgerEndTerm = EndTerm(log)]
    IN  /\ s.role = "DOWN"
        /\ Step(n, UpdateCommittedIndex(Written(t), s.currTerm, s.checkPoint))

\* ACTION Lose: a message to n is lost, or cleared from its queues.
Lose(n) ==
    \E m \in Inbox(n) :
    /\ MayLose(n, m)
    /\ network' = Received(network, m)
    /\ UNCHANGED <<node, received, history>>

\* ACTION Duplicate: a message to n will be delivered twice.
Duplicate(n) ==
    \E m \in Inbox(n) :
    /\ MayDuplicate(n)
    /\ network' = [network EXCEPT ![m.src][n] = Twice(@, m)]
    /\ UNCHANGED <<node, received, history>>

-----------------------------------------------------------------------------
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
    \/ \E n \in Node : CheckAppendFuture(n)
    \/ \E n \in Node : HandleDoCommit(n)
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
(* What a trace may show of a node after an event, by the trace's names.   *)

Observe(n) ==
    LET s == node[n] IN
    [role             |-> s.role,
     currTerm         |-> s.currTerm,
     currVoteFor      |-> s.currVoteFor,
     leaderId         |-> s.leaderId,
     ledgerBeginIndex |-> BeginIndex(s.log),
     ledgerEndIndex   |-> EndIndex(s.log),
     ledgerEndTerm    |-> s.ledgerEndTerm,
     committedIndex   |-> s.committedIndex,
     checkPoint       |-> s.checkPoint,
     lastQuorumIndex  |-> s.lastQuorumIndex,
     lastAppliedIndex |-> s.lastAppliedIndex,
     futures          |-> s.futures,
     log              |-> s.log,
     peerWaterMarks   |-> s.peerWaterMarks,
     dispatchers      |-> s.dispatchers,
     writeRequestMap           |-> received[n].writeRequestMap,
     compareOrTruncateRequests |-> received[n].compareOrTruncateRequests,
     acknowledged     |-> acknowledged,  \* not of n alone: what any client was told
     election         |-> s.election]

-----------------------------------------------------------------------------
(* Invariants.                                                             *)

\* INV TypeOK: every variable has its type.
TypeOK ==
    /\ \A n \in Node : node[n] \in NodeState(n)
    /\ \A n \in Node : \A p \in Peers(n) : \A m \in Messages(network[n][p]) :
         /\ m \in RequestMessage \cup BatchMessage \cup CommitMessage
                  \cup ResponseMessage \cup BatchResponseMessage \cup ElectionMessage
         /\ m.src = n /\ m.dst = p
         /\ ~Fifo => network[n][p][m] \in Nat \ {0}
    /\ \A e \in elected : e \in [term: Nat, leader: Node]
    /\ \A n \in Node : received[n] \in Queues
    /\ \A c \in committed : c \in [term: Nat, index: Nat, entry: LogEntry \cup {Hole}]
    /\ \A a \in acknowledged : a \in [index: Nat, entry: LogEntry]

\* INV IndexOrder: lastQuorumIndex <= committedIndex <= ledgerEndIndex.
\* Source: the order that the articles on DLedger state.
IndexOrder ==
    \A n \in Node : /\ node[n].lastQuorumIndex <= node[n].committedIndex
                    /\ node[n].committedIndex <= EndIndex(node[n].log)

\* INV ElectionSafety: at most one leader in a term.
\* Source: Raft, Figure 3.
ElectionSafety ==
    /\ \A n, m \in Node : (/\ node[n].role = "LEADER" /\ node[m].role = "LEADER"
                           /\ node[n].currTerm = node[m].currTerm) => n = m
    /\ \A e, f \in elected : e.term = f.term => e.leader = f.leader

\* INV LogMatching: logs that hold the same entry at an index hold the same entry before it.
\* Source: Raft, Figure 3.  Entries are compared whole; stepping down one index is enough, since
\* the entry before is then such an entry itself.  A hole is none, and equals none.
LogMatching ==
    \A n, m \in Node : \A i \in 1..Min({EndIndex(node[n].log), EndIndex(node[m].log)}) :
       n # m /\ HasEntry(node[n].log, i) /\ EntryAt(n, i) = EntryAt(m, i)
         => HasEntry(node[n].log, i - 1) /\ EntryAt(n, i - 1) = EntryAt(m, i - 1)

\* INV NoHoles: every index of a log can be read.
\* Source: DLedgerStore.get, which promises an entry for every index from begin to end.
NoHoles ==
    \A n \in Node : \A i \in 0..EndIndex(node[n].log) : HasEntry(node[n].log, i)

Holds(log, c) == HasEntry(log, c.index) /\ Entry(log, c.index) = c.entry

\* INV LeaderCompleteness: a leader holds every entry that was committed up to its term.
\* Source: Raft, Figure 3.
LeaderCompleteness ==
    \A n \in Node : node[n].role = "LEADER" =>
       \A c \in committed : c.term <= node[n].currTerm => Holds(node[n].log, c)

\* INV StateMachineSafety: what a node regards as committed is what a leader committed there, ever.
\* Source: Raft, Figure 3.  Of two leaders that commit different entries at one index, the second
\* has its own at that index and regards it as committed.
StateMachineSafety ==
    \A n \in Node : \A c \in committed :
       c.index <= CommittedEnd(node[n]) => EntryAt(n, c.index) = c.entry

\* INV AcknowledgedIsDurable: what a client was told is safe is stored by a quorum.
\* Source: Raft 8: a leader answers once the entry is committed.
AcknowledgedIsDurable ==
    \A a \in acknowledged : IsQuorum({n \in Node : Holds(node[n].log, a)}, Node)

\* INV AppliedIsCommitted: a state machine applies what its node knows to be committed.
\* Source: Raft, Figure 2: lastApplied follows commitIndex.
AppliedIsCommitted ==
    \A n \in Node : node[n].lastAppliedIndex <= node[n].committedIndex

-----------------------------------------------------------------------------
(* Properties of steps.                                                    *)

\* PROP CommittedEntriesStayProp: no step removes a committed entry from a log that holds it.
CommittedEntriesStayProp ==
    [][\A n \in Node : \A c \in committed : Holds(node[n].log, c) => Holds(node'[n].log, c)]_vars

\* Of a step: n runs before it and after it.
Runs(n) == node[n].role # "DOWN" /\ node'[n].role # "DOWN"

\* Of a step: n is in one term before it and after it.
StaysInTerm(n) == node'[n].currTerm = node[n].currTerm

\* PROP CommittedMonotonicProp: a node that runs never takes back what it knows to be committed.
CommittedMonotonicProp ==
    [][\A n \in Node : Runs(n) => node'[n].committedIndex >= node[n].committedIndex]_vars

\* PROP WatermarkMonotonicWithinTermProp: within a term watermarks only grow.
WatermarkMonotonicWithinTermProp ==
    [][\A n, p \in Node : Runs(n) /\ StaysInTerm(n)
                             => node'[n].peerWaterMarks[p] >= node[n].peerWaterMarks[p]]_vars

\* PROP LeaderAppendOnlyProp: a leader neither removes nor overwrites an entry of its log.
LeaderAppendOnlyProp ==
    [][\A n \in Node : node[n].role = "LEADER" /\ node'[n].role = "LEADER" /\ node'[n].log # node[n].log
                          => /\ Len(node'[n].log) > Len(node[n].log)
                             /\ SubSeq(node'[n].log, 1, Len(node[n].log)) = node[n].log]_vars

\* PROP VoteOncePerTermProp: a node that voted in a term gives no other vote in it, crash or not.
VoteOncePerTermProp ==
    [][\A n \in Node : StaysInTerm(n) /\ node[n].currVoteFor # NoNode
                          => node'[n].currVoteFor = node[n].currVoteFor]_vars

\* PROP RecoveryKeepsLogProp: a node comes back with the log it went down with.
RecoveryKeepsLogProp ==
    [][\A n \in Node : (node[n].role = "DOWN" /\ node'[n].role # "DOWN")
                          => node'[n].log = node[n].log]_vars

=============================================================================
