------------------------------ MODULE Messages ------------------------------
(***************************************************************************)
(* What nodes send each other.  The reader learns the fields of each       *)
(* message, as a trace shows them, and where a message waits.              *)
(*                                                                         *)
(* Leader to follower: COMPARE, TRUNCATE, APPEND and COMMIT are pushed by  *)
(* a dispatcher, and carry its term.  All but COMMIT are answered.         *)
(* Node to node: VOTE, HEARTBEAT and TRANSFER, all of them answered.       *)
(*                                                                         *)
(* With RequestQueues, what is pushed waits at the follower in two queues  *)
(* of its EntryHandler: an APPEND in writeRequestMap, by its index; a      *)
(* COMPARE, TRUNCATE or COMMIT in compareOrTruncateRequests, in order.     *)
(***************************************************************************)
EXTENDS State

\* The messages that may reach n next.
Inbox(n) == UNION {Deliverable(network[p][n]) : p \in Peers(n)}

\* The messages from n, but for requests that n gave up: a step of n adds here exactly what it sends.
Outbox(n) ==
    {m \in UNION {MessagesIn(network[n][p]) : p \in Peers(n)} :
        m.kind = "request" => m.awaited \/ m.type = "COMMIT"}

IsRequest(m, type)  == m.kind = "request" /\ m.type = type
IsResponse(m, type) == m.kind = "response" /\ m.type = type

-----------------------------------------------------------------------------
(* What a dispatcher pushes, and the answers.                              *)

Request(n, peer, state, type, index) ==
    [kind |-> "request", type |-> type, src |-> n, dst |-> peer,
     term |-> state.dispatchers[peer].term, index |-> index, entry |-> Entry(state.log, index),
     commitIndex |-> state.committedIndex, awaited |-> TRUE]

\* An APPEND of `count` entries, the first of them at `index`.  Without Batches it is one entry.
AppendRequest(n, peer, state, index, count) ==
    IF ~Batches THEN Request(n, peer, state, "APPEND", index)
    ELSE [kind |-> "request", type |-> "APPEND", src |-> n, dst |-> peer,
          term |-> state.dispatchers[peer].term, index |-> index,
          entries |-> SubSeq(state.log, index + 1, index + count),
          commitIndex |-> state.committedIndex, awaited |-> TRUE]

CommitRequest(n, peer, state) ==
    [kind |-> "request", type |-> "COMMIT", src |-> n, dst |-> peer,
     term |-> state.dispatchers[peer].term, commitIndex |-> state.committedIndex, awaited |-> FALSE]

\* m is a batch, or the answer to one.
IsBatch(m) == Batches /\ m.type = "APPEND"

\* The entries of an APPEND, and the index of the last.
EntriesOf(m) == IF IsBatch(m) THEN m.entries ELSE <<m.entry>>
LastPushedIndex(m) == m.index + Len(EntriesOf(m)) - 1

\* EntryHandler.buildResponse: term, index and count are those of the request m, the ends of the log those of
\* `state`, which n was in when it built the answer.
Response(n, m, state, code) ==
    IF ~IsBatch(m)
    THEN [kind |-> "response", type |-> m.type, src |-> n, dst |-> m.src, term |-> m.term,
          index |-> m.index, code |-> code,
          beginIndex |-> BeginIndex(state.log), endIndex |-> EndIndex(state.log)]
    ELSE [kind |-> "response", type |-> m.type, src |-> n, dst |-> m.src, term |-> m.term,
          index |-> m.index, count |-> Len(m.entries), code |-> code,
          beginIndex |-> BeginIndex(state.log), endIndex |-> EndIndex(state.log)]

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

\* Of the APPENDs with one index the first waits; the others do not.
Queues == [writeRequestMap: SUBSET (RequestMessage \cup BatchMessage),
           compareOrTruncateRequests: Seq(RequestMessage \cup CommitMessage)]
EmptyQueues == [writeRequestMap |-> {}, compareOrTruncateRequests |-> << >>]

-----------------------------------------------------------------------------
(* The messages of elections (VoteMessages).                               *)

\* A candidate asks with the end of the log as it was when the round began.
VoteRequest(n, peer, state) ==
    [kind |-> "request", type |-> "VOTE", src |-> n, dst |-> peer, term |-> state.currTerm,
     ledgerEndTerm |-> state.election.round.ledgerEndTerm,
     ledgerEndIndex |-> state.election.round.ledgerEndIndex, awaited |-> TRUE]

HeartBeatRequest(n, peer, state) ==
    [kind |-> "request", type |-> "HEARTBEAT", src |-> n, dst |-> peer, term |-> state.currTerm,
     awaited |-> TRUE]

TransferRequest(n, peer, state) ==
    [kind |-> "request", type |-> "TRANSFER", src |-> n, dst |-> peer, term |-> state.currTerm,
     index |-> EndIndex(state.log), awaited |-> TRUE]

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

\* They are a lane of their own: what is pushed waits in the queues of the EntryHandler, and holds up none of
\* them.
IsElection(m) == m.type \in {"VOTE", "HEARTBEAT", "TRANSFER"}

\* Those that may reach n next.
Mail(n) ==
    IF VoteMessages THEN UNION {DeliverableInLane(network[p][n], IsElection) : p \in Peers(n)} ELSE {}

=============================================================================
