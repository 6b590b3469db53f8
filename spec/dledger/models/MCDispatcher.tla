---------------------------- MODULE MCDispatcher ----------------------------
(***************************************************************************)
(* Bounded models of Dispatcher, and what it implements: what leaders      *)
(* commit there is chosen, as ReplicatedLog has it.                        *)
(***************************************************************************)
EXTENDS Dispatcher, TLC

CONSTANTS MaxTerm, MaxLog, MaxMessages

\* A step that leads beyond the bounds is never taken.
MCNext == Next /\ \A n \in Node : node'[n].currTerm <= MaxTerm /\ Len(node'[n].log) <= MaxLog

\* No more than MaxMessages are under way.
FewUnderWay(sent) == {few \in SUBSET sent : Cardinality(few) <= MaxMessages}

Symmetry == Permutations(Node)

\* INV ElectionSafety: a term has at most one leader.
ElectionSafety == \A n, m \in Node : Leads(n) /\ Leads(m) /\ node[n].currTerm = node[m].currTerm => n = m

\* INV CommittedIsStored: a majority holds each committed entry, from its commit on.
CommittedIsStored == \A c \in committed : IsQuorum({n \in Node : Holds(node[n], c.index, c.entry)}, Node)

\* INV LearntIsCommitted: what a node takes for committed a leader has committed.
LearntIsCommitted == \A n \in Node : \A i \in 0..node[n].committedIndex :
    \E c \in committed : c.index = i /\ c.entry = node[n].log[i + 1]

\* PROP LearnsInItsTermProp: a follower learns what is committed by a request of its own term.
LearnsInItsTermProp == [][\A n \in Node :
    ~Leads(n) /\ node'[n].committedIndex # node[n].committedIndex =>
        \E m \in messages : m.kind = "request" /\ m.dst = n /\ m.term = node[n].currTerm
    ]_<<node, messages, committed>>

\* An entry that leaders of several terms committed is chosen once.
Chosen == INSTANCE ReplicatedLog WITH
    First  <- 0,
    chosen <- {[index |-> c.index, entry |-> c.entry] : c \in committed}

\* PROP RefinesReplicatedLog: every step chooses the next entries, or changes nothing that is chosen.
RefinesReplicatedLog == Chosen!Spec

=============================================================================
