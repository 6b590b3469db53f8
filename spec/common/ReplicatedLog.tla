---------------------------- MODULE ReplicatedLog ----------------------------
(***************************************************************************)
(* A replicated log, whatever makes it: entries are chosen, one for each   *)
(* index, in order, and a chosen entry never changes.  The reader learns   *)
(* what two protocols with different messages, elections and disks have in *)
(* common: each of them is this, seen from far enough.                     *)
(*                                                                         *)
(* There are no servers here and no terms.  A protocol implements this     *)
(* spec if its steps, seen through a mapping that shows of its state only  *)
(* what is chosen, are steps of this one or change nothing.  For DLedger   *)
(* and for hashicorp/raft alike, what is chosen is what leaders have       *)
(* committed; models/MCReplicatedLog of each has the mapping.              *)
(***************************************************************************)
EXTENDS Quorum

CONSTANT First   \* the index of the first entry

VARIABLE chosen  \* SUBSET [index, entry]

\* The last index that has an entry; First - 1 if none has.
End(entries) == Max({First - 1} \cup {x.index : x \in entries})

Init == chosen = {}

\* Entries are chosen for the next indexes, one for each.
Choose ==
    LET new  == chosen' \ chosen
        next == End(chosen) + 1 .. End(chosen')
    IN  /\ chosen \subseteq chosen'
        /\ new # {}
        /\ {x.index : x \in new} = next
        /\ Cardinality(new) = Cardinality(next)

Spec == Init /\ [][Choose]_chosen

=============================================================================
