------------------------- MODULE MCDispatcherStarts -------------------------
(***************************************************************************)
(* Models of Dispatcher that begin where many steps would lead, and in     *)
(* which leaders talk with one follower alone.                             *)
(*                                                                         *)
(* TwoCommitted: a TRUNCATE that comes once more, after its leader has     *)
(* pushed an entry of an earlier term behind it, cuts that entry, which    *)
(* may be committed.  Nothing is lost: the majority that stored it in the  *)
(* term of its commit still holds it.                                      *)
(*                                                                         *)
(* ThreeLeaders: a follower holds an entry that its own leader pushed, and *)
(* an earlier leader, which does not know of it, pushes the same entry.    *)
(***************************************************************************)
EXTENDS MCDispatcher

CONSTANTS n1, n2, n3, n4, n5, v

Entry(term) == [term |-> term, value |-> v]
State(n, role, term, log, index) ==
    [role |-> role, currTerm |-> term, log |-> log, committedIndex |-> index, lastQuorumIndex |-> index,
     dispatchers |-> Fresh(n), peerWaterMarks |-> NoMarks]

\* Dispatchers for other peers than this one stay as they are.
TalksWith(peer) == \A n \in Node : \A p \in Peers(n) \ {peer} :
    node'[n].dispatchers[p] \in {node[n].dispatchers[p], Comparing(-1)}

\* n1 has committed two entries with n3 in term 1.  n3 leads term 2, n1 voted for it; n2 holds nothing.
TwoCommitted ==
    LET log == <<Entry(1), Entry(1)>>
    IN  /\ node = (n1 :> State(n1, "FOLLOWER", 2, log, 1) @@ n2 :> State(n2, "FOLLOWER", 0, << >>, -1)
                   @@ n3 :> State(n3, "LEADER", 2, log, -1))
        /\ messages = {}
        /\ committed = {[term |-> 1, index |-> i - 1, entry |-> log[i]] : i \in 1..2}

TwoCommittedNext == MCNext /\ TalksWith(n2)

\* n1 leads term 1, and is to push its second entry to n5; n3 has that entry.  n2 leads term 2, and has
\* another one.  n3 leads term 3, and n4 and n5 follow it.
ThreeLeaders ==
    LET first  == <<Entry(1)>>
        second == <<Entry(1), Entry(1)>>
        leads  == [State(n1, "LEADER", 1, second, -1) EXCEPT
                      !.dispatchers[n5] = Appending(1),
                      !.peerWaterMarks = n1 :> 1 @@ n3 :> 1 @@ n5 :> 0 @@ NoMarks]
    IN  /\ node = (n1 :> leads @@ n2 :> State(n2, "LEADER", 2, <<Entry(1), Entry(2)>>, -1)
                   @@ n3 :> State(n3, "LEADER", 3, second, -1)
                   @@ n4 :> State(n4, "FOLLOWER", 3, first, -1) @@ n5 :> State(n5, "FOLLOWER", 3, first, -1))
        /\ messages = {} /\ committed = {}

ThreeLeadersNext == MCNext /\ TalksWith(n5) /\ node'[n2] = node[n2] /\ node'[n4] = node[n4]

\* PROP CommittedEntriesStayProp: no step removes a committed entry from a log that holds it.  Violated.
CommittedEntriesStayProp ==
    [][\A n \in Node : \A c \in committed :
          Holds(node[n], c.index, c.entry) => Holds(node'[n], c.index, c.entry)]_<<node, messages, committed>>

\* INV NeverCommitsOwnEntry: n3 does not commit an entry of its own.  Violated.
NeverCommitsOwnEntry == node[n3].committedIndex < 2

\* INV NeverPushedTwice: n1 pushes nothing that n5 has from n3.  Violated.
NeverPushedTwice == ~\E m \in messages :
    m.type = "APPEND" /\ m.kind = "request" /\ m.src = n1 /\ Holds(node[n5], m.index, m.entry)

=============================================================================
