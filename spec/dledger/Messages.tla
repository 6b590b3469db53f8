------------------------------ MODULE Messages ------------------------------
(***************************************************************************)
(* What nodes send each other, where it waits, and the forms of a step.    *)
(***************************************************************************)
EXTENDS State

Inbox(n) == UNION {Deliverable(network[p][n]) : p \in Peers(n)}

\* The messages from n, but for requests that n gave up: a step of n adds here exactly what it sends.
Outbox(n) ==
    {m \in UNION {Messages(network[n][p]) : p \in Peers(n)} :
        m.kind = "request" => m.awaited \/ m.type = "COMMIT"}

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
    IF ~RequestQueues THEN Inbox(n)
    ELSE IF q.compareOrTruncateRequests # << >> THEN {Head(q.compareOrTruncateRequests)}
    ELSE q.writeRequestMap

\* The request m is taken from where it waited; net is the network with what is sent.
Taken(n, m, net) ==
    /\ network' = IF RequestQueues THEN net ELSE Received(net, m)
    /\ received' = IF ~RequestQueues THEN received
                   ELSE IF m.type = "APPEND" THEN [received EXCEPT ![n].writeRequestMap = @ \ {m}]
                   ELSE [received EXCEPT ![n].compareOrTruncateRequests = Tail(@)]

\* n handles the request m, is left as s, and its answer was built from `shown`.
Answer(n, m, s, shown, code) ==
    /\ node' = [node EXCEPT ![n] = s]
    /\ Taken(n, m, IF m.awaited THEN Sent(network, Response(n, m, shown, code)) ELSE network)
    /\ UNCHANGED history

IsRequest(m, type)  == m.kind = "request" /\ m.type = type
IsResponse(m, type) == m.kind = "response" /\ m.type = type

=============================================================================
