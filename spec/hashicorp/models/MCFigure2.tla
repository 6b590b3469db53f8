------------------------------ MODULE MCFigure2 ------------------------------
(***************************************************************************)
(* Bounded models of Figure2, and what it implements: what leaders commit  *)
(* there is chosen, as ReplicatedLog has it.                               *)
(***************************************************************************)
EXTENDS Figure2, TLC

CONSTANTS MaxTerm, MaxLog, MaxMessages

\* A step that leads beyond the bounds is never taken.
MCNext == Next /\ \A n \in Node : node'[n].currentTerm <= MaxTerm /\ Len(node'[n].log) <= MaxLog

\* No more than MaxMessages are under way.
FewUnderWay(sent) == {few \in SUBSET sent : Cardinality(few) <= MaxMessages}

Never(n) == FALSE
Symmetry == Permutations(Node)

\* Figure 8 of the paper, where (c) begins: `a` led term 2, `b` term 3, and no other node has stored their
\* no-ops.  In term 4 `a` leads once more.
InitPriorTerm ==
    \E a, b \in Node :
    LET own(n)   == IF n = a THEN <<EntryOf(2, "Noop", NoNode)>>
                    ELSE IF n = b THEN <<EntryOf(3, "Noop", NoNode)>> ELSE << >>
        state(n) == [currentTerm |-> IF n = b THEN 3 ELSE 4, votedFor |-> IF n = b THEN b ELSE a,
                     log |-> <<EntryOf(1, "Configuration", NoNode)>> \o own(n), commitIndex |-> 0,
                     role |-> "Follower", granted |-> {}, startIndex |-> 0,
                     nextIndex |-> NoIndexes, matchIndexes |-> NoIndexes]
        leads    == [state(a) EXCEPT !.role = "Leader", !.startIndex = 3, !.nextIndex = [p \in Node |-> 3]]
    IN  /\ a # b
        /\ node = [n \in Node |-> IF n = a THEN leads ELSE state(n)]
        /\ messages = {} /\ committed = {}

\* INV CommittedIsStored: a majority holds each committed entry, from its commit on.
CommittedIsStored == \A c \in committed : IsQuorum({n \in Node : Holds(node[n], c.index, c.entry)}, Node)

\* INV LearntIsCommitted: what a node takes for committed a leader has committed.
LearntIsCommitted == \A n \in Node : \A i \in 1..node[n].commitIndex :
    \E c \in committed : c.index = i /\ c.entry = node[n].log[i]

\* INV MatchedIsStored: a peer holds the leader's log up to its matchIndex, as long as it is in no later term.
MatchedIsStored == \A n \in Node : \A p \in Peers(n) : \A i \in 1..node[n].matchIndexes[p] :
    node[p].currentTerm <= node[n].currentTerm => Holds(node[p], i, node[n].log[i])

\* Witnesses: each name says that something never happens, and TLC must violate it.
NoOlderTermCommitted    == \A c \in committed : c.entry.type # "Configuration" => c.entry.term = c.term
NextIndexNeverFallsProp == [][\A n \in Node : \A p \in Peers(n) : Leads(n) /\ Leads(n)'
                                 => node'[n].nextIndex[p] >= node[n].nextIndex[p]]_node
NothingCutProp          == [][\A n \in Node : \A i \in 1..LastIndex(node[n]) :
                                 Holds(node'[n], i, node[n].log[i])]_node

Chosen == INSTANCE ReplicatedLog WITH
    First  <- 1,
    chosen <- {[index |-> c.index, entry |-> c.entry] : c \in committed}

\* PROP RefinesReplicatedLog: every step chooses the next entries, or changes nothing that is chosen.
RefinesReplicatedLog == Chosen!Spec

=============================================================================
