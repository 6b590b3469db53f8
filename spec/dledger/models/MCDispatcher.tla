---------------------------- MODULE MCDispatcher ----------------------------
EXTENDS Dispatcher

CONSTANTS MaxTerm, MaxLog, MaxMessages

\* A step that leads beyond the bounds is never taken.
MCNext == Next /\ \A n \in Node : node'[n].currTerm <= MaxTerm /\ Len(node'[n].log) <= MaxLog

\* No more than MaxMessages are under way.
FewUnderWay(sent) == {few \in SUBSET sent : Cardinality(few) <= MaxMessages}

Chosen == INSTANCE ReplicatedLog WITH
    First  <- 0,
    chosen <- {[index |-> c.index, entry |-> c.entry] : c \in committed}
RefinesReplicatedLog == Chosen!Spec
=============================================================================
