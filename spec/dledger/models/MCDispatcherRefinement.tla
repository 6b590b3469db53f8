----------------------- MODULE MCDispatcherRefinement -----------------------
(***************************************************************************)
(* The coarsest steps of the spec, every flaw repaired, are steps of       *)
(* Dispatcher.  The reader learns what is left out there:                  *)
(*                                                                         *)
(*   a dispatcher that serves another term, or no leader, is a fresh one;  *)
(*   nobody waits for an answer, and an answer that only says "begin       *)
(*   again" is none;                                                       *)
(*   votes, disks, clients and the state machine are not there.            *)
(***************************************************************************)
EXTENDS MCDLedger

DispatcherOf(state, p) ==
    LET d == state.dispatchers[p] IN
    IF state.role # "LEADER" \/ d.term # state.currTerm
    THEN [type |-> "COMPARE", compareIndex |-> -1, writeIndex |-> -1]
    ELSE [type |-> d.type,
          compareIndex |-> IF d.type = "TRUNCATE" THEN d.truncateIndex ELSE d.compareIndex,
          writeIndex |-> IF d.type = "APPEND" THEN d.writeIndex ELSE -1]

NodeOf(n) ==
    LET state == node[n] IN
    [role |-> IF state.role = "LEADER" THEN "LEADER" ELSE "FOLLOWER",
     currTerm |-> state.currTerm, log |-> state.log,
     committedIndex |-> state.committedIndex, lastQuorumIndex |-> state.lastQuorumIndex,
     dispatchers |-> [p \in Peers(n) |-> DispatcherOf(state, p)],
     peerWaterMarks |-> IF state.role = "LEADER" THEN state.peerWaterMarks ELSE NoMarks]

SaysSomething(m) ==
    \/ m.kind = "request"
    \/ m.code = "SUCCESS"
    \/ (m.code = "INCONSISTENT_STATE" /\ m.type # "TRUNCATE")

MessageOf(m) ==
    IF m.kind = "response"
    THEN [kind |-> m.kind, type |-> m.type, src |-> m.src, dst |-> m.dst, term |-> m.term,
          index |-> m.index, code |-> m.code, endIndex |-> m.endIndex]
    ELSE IF m.type = "COMMIT"
    THEN [kind |-> m.kind, type |-> m.type, src |-> m.src, dst |-> m.dst, term |-> m.term,
          commitIndex |-> m.commitIndex]
    ELSE [kind |-> m.kind, type |-> m.type, src |-> m.src, dst |-> m.dst, term |-> m.term,
          index |-> m.index, entry |-> m.entry, commitIndex |-> m.commitIndex]

AllMessages == UNION {UNION {MessagesIn(network[p][q]) : q \in Peers(p)} : p \in Node}

Abstract == INSTANCE Dispatcher WITH
    node     <- [n \in Node |-> NodeOf(n)],
    messages <- {MessageOf(m) : m \in {x \in AllMessages : SaysSomething(x)}}

\* PROP RefinesDispatcher: every step is one of Dispatcher, or changes nothing there.
RefinesDispatcher == Abstract!Spec
=============================================================================
