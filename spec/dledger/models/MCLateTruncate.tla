--------------------------- MODULE MCLateTruncate ---------------------------
(***************************************************************************)
(* A TRUNCATE that comes once more, after its leader has pushed an entry   *)
(* of an earlier term behind it, cuts that entry, which may be committed.  *)
(* Nothing is lost: the majority that stored the entry in its own term     *)
(* still holds it, and a leader counts an entry of an earlier term only    *)
(* with one of its own behind it, after which such a TRUNCATE cuts nothing.*)
(***************************************************************************)
EXTENDS MCDispatcher

CONSTANTS n1, n2, n3, v

\* n1 has committed two entries with n3 in term 1.  n3 leads term 2, n1 voted for it; n2 holds nothing.
TwoCommitted ==
    LET log(length)   == [i \in 1..length |-> [term |-> 1, value |-> v]]
        State(n, role, term, length, index) ==
            [role |-> role, currTerm |-> term, log |-> log(length), committedIndex |-> index,
             lastQuorumIndex |-> index, dispatchers |-> Fresh(n), peerWaterMarks |-> NoMarks]
    IN  /\ node = (n1 :> State(n1, "FOLLOWER", 2, 2, 1) @@ n2 :> State(n2, "FOLLOWER", 0, 0, -1)
                   @@ n3 :> State(n3, "LEADER", 2, 2, -1))
        /\ messages = {}
        /\ committed = {[term |-> 1, index |-> i - 1, entry |-> log(2)[i]] : i \in 1..2}

\* n3 talks with n2 alone.
LateNext == MCNext /\ node'[n1] = node[n1] /\ node'[n3].dispatchers[n1] = node[n3].dispatchers[n1]

\* PROP CommittedEntriesStayProp: no step removes a committed entry from a log that holds it.  Violated.
CommittedEntriesStayProp ==
    [][\A n \in Node : \A c \in committed :
          Holds(node[n], c.index, c.entry) => Holds(node'[n], c.index, c.entry)]_<<node, messages, committed>>

\* INV NeverCommitsOwnEntry: n3 does not commit its own entry.  Violated.
NeverCommitsOwnEntry == node[n3].committedIndex < 2

=============================================================================
