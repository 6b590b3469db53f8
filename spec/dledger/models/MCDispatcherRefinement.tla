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
    \/ (m.code = "INCONSISTENT_STATE" /\ m.type = "COMPARE")

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

Nodes    == [n \in Node |-> NodeOf(n)]
Messages == {MessageOf(m) : m \in {x \in AllMessages : SaysSomething(x)}}

Abstract == INSTANCE Dispatcher WITH node <- Nodes, messages <- Messages

\* PROP RefinesDispatcher: every step is one of Dispatcher, or changes nothing there.
RefinesDispatcher == Abstract!Spec

\* PROP RefinesStepsOfDispatcher: the same of a model that begins later.
RefinesStepsOfDispatcher == [][Abstract!Next]_<<Nodes, Messages, committed>>

-----------------------------------------------------------------------------
(* With two nodes both are a quorum, and no log is ever cut.  So a model   *)
(* begins where the learner, of three nodes, has entries that its leader   *)
(* does not have.                                                          *)

LearnerHasOthers ==
    \E leader \in Peers(Learner) :
    LET entry(t) == [term |-> t, value |-> CHOOSE value \in Value : TRUE]
        LogOf(n) == CASE n = Learner -> <<entry(1), entry(1), entry(1)>>
                      [] n = leader -> <<entry(1), entry(2)>>
                      [] OTHER -> <<entry(1)>>
    IN  /\ node = [n \in Node |->
                     [InitNode(n) EXCEPT !.currTerm = 2, !.leaderId = leader, !.currVoteFor = leader,
                                         !.votes = IF n = leader THEN Peers(Learner) ELSE {},
                                         !.role = IF n = leader THEN "LEADER" ELSE "FOLLOWER",
                                         !.log = LogOf(n), !.disk = LogOf(n),
                                         !.ledgerEndTerm = EndTerm(LogOf(n))]]
        /\ network = [n \in Node |-> [p \in Peers(n) |-> EmptyChannel]]
        /\ received = [n \in Node |-> EmptyQueues]
        /\ acknowledged = {} /\ committed = {}
        /\ elected = {[term |-> 2, leader |-> leader]}

\* PROP NeverCutsProp: the log of the learner gets no shorter.  Violated.
NeverCutsProp == [][EndIndex(node'[Learner].log) >= EndIndex(node[Learner].log)]_vars

\* PROP NoLateTruncateProp: a TRUNCATE that is handled cuts, or is refused.  Violated.
NoLateTruncateProp ==
    [][~\E m \in Inbox(Learner) : /\ IsRequest(m, "TRUNCATE") /\ HandleDoTruncate(Learner)
                                  /\ network' # network /\ IsLateTruncate(node[Learner], m)
                                  /\ node'[Learner].log = node[Learner].log]_vars
=============================================================================
