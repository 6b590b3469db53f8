------------------------------ MODULE Dispatcher ------------------------------
(***************************************************************************)
(* Log replication as DLedger does it.  For each peer a leader runs a      *)
(* dispatcher, which brings the peer's log in line with its own by four    *)
(* requests:                                                               *)
(*                                                                         *)
(*   COMPARE   do you hold my entry at this index?  From the end downwards *)
(*   TRUNCATE  end your log with this entry                                *)
(*   APPEND    store my next entry                                         *)
(*   COMMIT    my log is committed up to here                              *)
(*                                                                         *)
(* A watermark is the index up to which a member has stored the leader's   *)
(* log.  The quorum rule: the leader commits the highest index that the    *)
(* watermarks of a majority have reached, if the entry there is of its own *)
(* term.  In Raft, AppendEntries does the work of all four requests;       *)
(* nextIndex is compareIndex, then writeIndex; matchIndex is the watermark.*)
(* Indexes begin with 0; -1 is none.  An election is one step.  Messages   *)
(* may be lost, doubled and re-ordered.  Nodes forget nothing.             *)
(***************************************************************************)
EXTENDS Quorum
CONSTANTS Node, Value

VARIABLES node,      \* [n \in Node -> the state of n]
          messages,  \* the set of messages under way
          committed  \* SUBSET [term, index, entry]: what leaders committed, and in which term

Peers(n)           == Node \ {n}
Leads(n)           == node[n].role = "LEADER"
End(state)         == Len(state.log) - 1
TermAt(state, i)   == IF 0 <= i /\ i <= End(state) THEN state.log[i + 1].term ELSE -1
Holds(state, i, e) == 0 <= i /\ i <= End(state) /\ state.log[i + 1] = e

\* The three states of a dispatcher.  COMPARE at -1 is to begin at the end of the log.
Comparing(index)  == [type |-> "COMPARE", compareIndex |-> index, writeIndex |-> -1]
Truncating(index) == [type |-> "TRUNCATE", compareIndex |-> index, writeIndex |-> -1]
Appending(index)  == [type |-> "APPEND", compareIndex |-> -1, writeIndex |-> index]
Fresh(n) == [p \in Peers(n) |-> Comparing(-1)]
NoMarks  == [p \in Node |-> -1]

Init == /\ node = [n \in Node |-> [role |-> "FOLLOWER", currTerm |-> 0, log |-> << >>,
                                   committedIndex |-> -1, lastQuorumIndex |-> -1,
                                   dispatchers |-> Fresh(n), peerWaterMarks |-> NoMarks]]
        /\ messages = {} /\ committed = {}

\* A step of n, which becomes `after` and sends the messages in `new`.  Any message may be lost.
UnderWay(sent) == SUBSET sent
Step(n, after, new) ==
    node' = [node EXCEPT ![n] = after] /\ messages' \in UnderWay(messages \cup new) /\ UNCHANGED committed

(* TERMS *******************************************************************)
Enters(n, term, role) == [node[n] EXCEPT !.currTerm = term, !.role = role,
                                         !.dispatchers = Fresh(n), !.peerWaterMarks = NoMarks]

\* The log of a ends in a later term than that of b, or in the same term and is longer.
IsBetter(a, b) == \/ TermAt(a, End(a)) > TermAt(b, End(b))
                  \/ TermAt(a, End(a)) = TermAt(b, End(b)) /\ End(a) > End(b)

ElectLeader(n) ==
    \E voters \in SUBSET Node :
    LET term == 1 + Max({node[q].currTerm : q \in voters}) IN
    /\ n \in voters /\ IsQuorum(voters, Node) /\ \A q \in voters : ~IsBetter(node[q], node[n])
    /\ node' = [q \in Node |-> IF q \notin voters THEN node[q]
                               ELSE Enters(q, term, IF q = n THEN "LEADER" ELSE "FOLLOWER")]
    /\ UNCHANGED <<messages, committed>>

\* A node follows the leader of a later term, or leads no more.
ChangeToFollower(n) ==
    \E q \in Node : /\ Leads(q) /\ (q = n \/ node[q].currTerm > node[n].currTerm)
                    /\ Step(n, Enters(n, node[q].currTerm, "FOLLOWER"), {})

(* THE LEADER n, AND ITS DISPATCHER d FOR THE PEER p ***********************)
Marked(state, member, index) == [state EXCEPT !.peerWaterMarks[member] = Max({@, index})]
Becomes(state, p, d)         == [state EXCEPT !.dispatchers[p] = d]
ToAppend(state, p, index)    == Becomes(Marked(state, p, index), p, Appending(index + 1))

AppendAsLeader(n) ==
    \E value \in Value :
    LET after == [node[n] EXCEPT !.log = Append(@, [term |-> node[n].currTerm, value |-> value])]
    IN  Leads(n) /\ Step(n, Marked(after, n, End(after)), {})

\* A leader knows what it stored in earlier terms, too.
RefreshOwnWaterMark(n) == Leads(n) /\ Step(n, Marked(node[n], n, End(node[n])), {})

\* The dispatcher becomes `next`, and sends the entry at this index.
Push(n, p, next, index) ==
    /\ Leads(n) /\ 0 <= index /\ index <= End(node[n])
    /\ Step(n, Becomes(node[n], p, next),
            {[kind |-> "request", type |-> next.type, src |-> n, dst |-> p, term |-> node[n].currTerm,
              index |-> index, entry |-> node[n].log[index + 1], commitIndex |-> node[n].committedIndex]})

DoCompare(n, p, d) ==
    LET index == IF d.compareIndex = -1 THEN End(node[n]) ELSE d.compareIndex
    IN  d.type = "COMPARE" /\ Push(n, p, Comparing(index), index)
DoTruncate(n, p, d) == d.type = "TRUNCATE" /\ Push(n, p, d, d.compareIndex)

\* The next entry is pushed; when there is none, the first without an answer once more.
DoAppend(n, p, d) ==
    LET index == IF d.writeIndex <= End(node[n]) THEN d.writeIndex ELSE node[n].peerWaterMarks[p] + 1
    IN  d.type = "APPEND" /\ Push(n, p, Appending(Max({d.writeIndex, index + 1})), index)

DoCommit(n, p, d) ==
    /\ Leads(n) /\ d.type = "APPEND" /\ d.writeIndex > End(node[n])
    /\ Step(n, node[n], {[kind |-> "request", type |-> "COMMIT", src |-> n, dst |-> p,
                          term |-> node[n].currTerm, commitIndex |-> node[n].committedIndex]})

\* An APPEND is answered with INCONSISTENT_STATE, or a TRUNCATE not at all: COMPARE, from the end.
BeginAgain(n, p, d) == Leads(n) /\ d.type # "COMPARE" /\ Step(n, Becomes(node[n], p, Comparing(-1)), {})

\* The peer does not hold the entry, or holds more, or holds it as its last one.
Compared(state, p, m) ==
    LET lower == IF m.index > m.endIndex THEN m.endIndex ELSE m.index - 1
    IN  IF m.code # "SUCCESS" THEN Becomes(state, p, IF lower = -1 THEN Truncating(0) ELSE Comparing(lower))
        ELSE IF m.endIndex > m.index THEN Becomes(state, p, Truncating(m.index))
        ELSE ToAppend(state, p, m.index)

HandleResponse(n, p, d, m) ==
    /\ Leads(n) /\ m.kind = "response" /\ m.src = p /\ m.dst = n /\ m.term = node[n].currTerm
    /\ \/ m.type = "COMPARE" /\ d = Comparing(m.index) /\ Step(n, Compared(node[n], p, m), {})
       \/ m.type = "TRUNCATE" /\ Step(n, ToAppend(node[n], p, m.index), {})
       \/ m.type = "APPEND" /\ m.code = "SUCCESS" /\ Step(n, Marked(node[n], p, m.index), {})

\* The quorum rule.
QuorumAckChecker(n) ==
    LET state  == node[n]
        quorum == QuorumIndexBySorting(state.peerWaterMarks)
        index  == IF TermAt(state, quorum) = state.currTerm THEN quorum ELSE -1
        new    == state.committedIndex + 1 .. index
        Put(i) == [term |-> state.currTerm, index |-> i, entry |-> state.log[i + 1]]
    IN  /\ Leads(n)
        /\ node' = [node EXCEPT ![n].committedIndex = Max({@, index}), ![n].lastQuorumIndex = index]
        /\ committed' = committed \cup {Put(i) : i \in new}
        /\ UNCHANGED messages

(* THE FOLLOWER n, AND THE REQUEST m ***************************************)
IsOf(n, m, type) == m.type = type /\ m.term = node[n].currTerm
Found(state, m)  == IF Holds(state, m.index, m.entry) THEN "SUCCESS" ELSE "INCONSISTENT_STATE"
Learnt(state, m) == [state EXCEPT !.committedIndex = Max({@, Min({m.commitIndex, End(state)})})]

Answer(n, m, after, code) ==
    Step(n, after, {[kind |-> "response", type |-> m.type, src |-> n, dst |-> m.src, term |-> m.term,
                     index |-> m.index, code |-> code, endIndex |-> End(after)]})

HandleDoCompare(n, m) == IsOf(n, m, "COMPARE") /\ Answer(n, m, node[n], Found(node[n], m))
HandleDoCommit(n, m)  == IsOf(n, m, "COMMIT") /\ Step(n, Learnt(node[n], m), {})

\* A TRUNCATE is late, and cuts nothing, where an entry of its leader's term has been appended since.
HandleDoTruncate(n, m) ==
    LET state == node[n]
        late  == Holds(state, m.index, m.entry) /\ TermAt(state, End(state)) = m.term
        cut   == [state EXCEPT !.log = Append(SubSeq(@, 1, m.index), m.entry)]
    IN  /\ IsOf(n, m, "TRUNCATE")
        /\ late \/ (state.committedIndex <= m.index /\ m.index <= End(state) + 1)
        /\ Answer(n, m, Learnt(IF late THEN state ELSE cut, m), "SUCCESS")

HandleDoAppend(n, m) ==
    LET next  == m.index = End(node[n]) + 1
        after == IF next THEN Learnt([node[n] EXCEPT !.log = Append(@, m.entry)], m) ELSE node[n]
    IN  IsOf(n, m, "APPEND") /\ Answer(n, m, after, Found(after, m))

(* THE SPEC, AND ITS PROPERTIES ********************************************)
Next ==
    \/ messages' \in UnderWay(messages) /\ UNCHANGED <<node, committed>>
    \/ \E n \in Node :
       \/ ElectLeader(n) \/ ChangeToFollower(n)
       \/ AppendAsLeader(n) \/ RefreshOwnWaterMark(n) \/ QuorumAckChecker(n)
       \/ \E p \in Peers(n) : LET d == node[n].dispatchers[p] IN
             \/ DoCompare(n, p, d) \/ DoTruncate(n, p, d) \/ DoAppend(n, p, d) \/ DoCommit(n, p, d)
             \/ BeginAgain(n, p, d) \/ \E m \in messages : HandleResponse(n, p, d, m)
       \/ \E m \in {x \in messages : x.kind = "request" /\ x.dst = n /\ ~Leads(n)} :
             HandleDoCompare(n, m) \/ HandleDoTruncate(n, m) \/ HandleDoAppend(n, m) \/ HandleDoCommit(n, m)

Spec == Init /\ [][Next]_<<node, messages, committed>>

IndexOrder == \A n \in Node : /\ node[n].lastQuorumIndex <= node[n].committedIndex
                              /\ node[n].committedIndex <= End(node[n])
LogMatching == \A n, m \in Node : \A i \in 1..End(node[n]) :
    Holds(node[m], i, node[n].log[i + 1]) => Holds(node[m], i - 1, node[n].log[i])
LeaderCompleteness == \A n \in Node : \A c \in committed :
    Leads(n) /\ c.term <= node[n].currTerm => Holds(node[n], c.index, c.entry)
=============================================================================
