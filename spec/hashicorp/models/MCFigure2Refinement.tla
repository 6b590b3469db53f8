------------------------- MODULE MCFigure2Refinement -------------------------
(***************************************************************************)
(* The coarsest steps of the spec, every flaw repaired, are steps of       *)
(* Figure2.  The reader learns what is left out there:                     *)
(*                                                                         *)
(*   a candidate that asks nobody is a follower, and so is a server that   *)
(*   does not run;                                                         *)
(*   an answer names the end of its request, which here the routine that   *)
(*   waits for it remembers; a refused vote, or a request of an older      *)
(*   term, has no answer;                                                  *)
(*   two writes of a vote, disks that fail, snapshots, changes of the      *)
(*   configuration, and the FSM are not there.                             *)
(***************************************************************************)
EXTENDS MCHashicorpRaft

EntryOfLog(entry) == [term |-> entry.term, type |-> entry.type, value |-> entry.value]
AsSequence(log)   == [i \in 1..Cardinality(DOMAIN log) |-> EntryOfLog(log[i])]

\* A server that has won begins to lead when it is about to store the no-op.
NextIndexOf(state) == LastIndex(state) + 1
IsSetUp(state)     == state.role = "Leader" /\ state.loop = "SELECT"

NodeOf(n) ==
    LET state     == node[n]
        leads     == state.role = "Leader"
        asks      == state.role = "Candidate" /\ state.campaign.phase = "VOTE" /\ state.loop = "SELECT"
        start     == IF IsSetUp(state) THEN state.leaderState.startIndex ELSE NextIndexOf(state)
        next(p)   == IF IsSetUp(state) /\ p # n THEN state.replication[p].nextIndex ELSE start
    IN  [currentTerm |-> state.currentTerm,
         votedFor |-> IF state.lastVoteTerm = state.currentTerm THEN state.lastVoteCand ELSE NoNode,
         log |-> AsSequence(state.log),
         role |-> IF leads THEN "Leader" ELSE IF asks THEN "Candidate" ELSE "Follower",
         commitIndex |-> state.commitIndex,
         granted |-> IF asks THEN state.campaign.granted ELSE {},
         startIndex |-> IF leads THEN start ELSE 0,
         nextIndex |-> [p \in Node |-> IF leads THEN next(p) ELSE 0],
         matchIndexes |-> [p \in Node |-> IF leads THEN state.leaderState.matchIndexes[p] ELSE 0]]

SaysSomething(m) ==
    \/ m.kind = "request" /\ m.type \in {"RequestVote", "AppendEntries"}
    \/ m.kind = "response" /\ m.type = "RequestVote" /\ m.granted
    \/ m.kind = "response" /\ m.type = "AppendEntries" /\ m.term = RunnerFor(m.dst, m.src).term

MessageOf(m) ==
    IF m.type = "RequestVote"
    THEN IF m.kind = "request"
         THEN [kind |-> m.kind, type |-> m.type, src |-> m.src, dst |-> m.dst, term |-> m.term,
               lastLogIndex |-> m.lastLogIndex, lastLogTerm |-> m.lastLogTerm]
         ELSE [kind |-> m.kind, type |-> m.type, src |-> m.src, dst |-> m.dst, term |-> m.term]
    ELSE IF m.kind = "request"
    THEN [kind |-> m.kind, type |-> m.type, src |-> m.src, dst |-> m.dst, term |-> m.term,
          prevLogEntry |-> m.prevLogEntry, prevLogTerm |-> m.prevLogTerm,
          entries |-> [k \in 1..Len(m.entries) |-> EntryOfLog(m.entries[k])],
          leaderCommitIndex |-> m.leaderCommitIndex]
    ELSE [kind |-> m.kind, type |-> m.type, src |-> m.src, dst |-> m.dst, term |-> m.term,
          success |-> m.success, lastLog |-> m.lastLog, index |-> RunnerFor(m.dst, m.src).sentIndex]

AllMessages == UNION {UNION {MessagesIn(network[p][q]) : q \in Peers(p)} : p \in Node}

Abstract == INSTANCE Figure2 WITH
    node      <- [n \in Node |-> NodeOf(n)],
    messages  <- {MessageOf(m) : m \in {x \in AllMessages : SaysSomething(x)}},
    committed <- {[term |-> c.term, index |-> c.index, entry |-> EntryOfLog(c.entry)] : c \in committed}

\* PROP RefinesFigure2: every step is one of Figure2, or changes nothing there.
RefinesFigure2 == Abstract!Spec

\* A witness of why Figure2 has votes: whoever wins has a log that a majority would vote for now.
IsNoBetter(n, q) == ~HasBetterLog(node[q], [lastLogTerm |-> LastEntry(node[n]).term,
                                            lastLogIndex |-> LastEntry(node[n]).index])
WinnersLogIsStillGoodProp ==
    [][\A n \in Node : node[n].role # "Leader" /\ node'[n].role = "Leader"
          => IsQuorum({q \in Node : IsNoBetter(n, q)}, Node)]_vars

=============================================================================
