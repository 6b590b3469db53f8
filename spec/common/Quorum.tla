------------------------------- MODULE Quorum -------------------------------
(***************************************************************************)
(* The quorum rule: what a majority is, and which index a majority stores. *)
(* The reader learns why its two published forms are one rule.             *)
(*                                                                         *)
(* A leader keeps a watermark for each member: the highest index up to     *)
(* which that member is known to store the log; -1 where nothing is known. *)
(* The quorum index is the highest index that a majority has reached.      *)
(* DLedger has computed it in two ways:                                    *)
(*                                                                         *)
(*   0.1    counting: for each watermark, how many members have reached it *)
(*          (QuorumAckChecker.doWork, a nested loop with isQuorum);        *)
(*   0.2.0  sorting: order the watermarks, the highest first, and take     *)
(*          element size/2, counted from 0.                                *)
(*                                                                         *)
(* Example: three members with watermarks 4, 2 and 1.  Index 2 is reached  *)
(* by two of them, which is a majority, and index 4 by one; so counting    *)
(* gives 2.  Sorting gives <<4, 2, 1>>, whose element 3/2 = 1 is 2.        *)
(* They agree: let v be element size/2.  The size/2 + 1 elements up to it  *)
(* are no smaller, so size/2 + 1 members have reached v: a majority.  Only *)
(* elements before it can be larger, at most size/2: no majority has       *)
(* reached more.  TLC checks this on small groups (models/MCQuorum), z3    *)
(* for all integers (lockstep prove).                                      *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

\* MemberState.isQuorum(num): num >= size/2 + 1.
IsQuorum(voters, members) == Cardinality(voters) >= Cardinality(members) \div 2 + 1

Max(set) == CHOOSE x \in set : \A y \in set : y <= x
Min(set) == CHOOSE x \in set : \A y \in set : x <= y

\* By counting.  marks: [member -> watermark].
QuorumIndexByCounting(marks) ==
    LET members      == DOMAIN marks
        ReachedBy(i) == {p \in members : marks[p] >= i}
    IN  Max({-1} \cup {i \in {marks[p] : p \in members} : IsQuorum(ReachedBy(i), members)})

\* The watermarks of some members, the highest first.
RECURSIVE Descending(_, _)
Descending(marks, members) ==
    IF members = {}
    THEN << >>
    ELSE LET highest == Max({marks[p] : p \in members})
             holders == {p \in members : marks[p] = highest}
         IN  [k \in 1..Cardinality(holders) |-> highest] \o Descending(marks, members \ holders)

\* By sorting: element size/2 counted from 0 is element size/2 + 1 counted from 1.
QuorumIndexBySorting(marks) ==
    Descending(marks, DOMAIN marks)[Cardinality(DOMAIN marks) \div 2 + 1]

=============================================================================
