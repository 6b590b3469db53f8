------------------------------ MODULE MCQuorum ------------------------------
(***************************************************************************)
(* The two forms of the quorum rule give one index, and quorums intersect, *)
(* for groups of up to MaxSize members and watermarks up to MaxIndex.      *)
(* The behaviour chooses watermarks, so that a counterexample names them.  *)
(***************************************************************************)
EXTENDS Quorum

CONSTANTS MaxSize, MaxIndex

VARIABLES size, marks

Init == size = 0 /\ marks = [p \in {} |-> -1]

Next ==
    \/ /\ size < MaxSize
       /\ size' = size + 1
       /\ \E index \in -1..MaxIndex : marks' = [p \in 1..size + 1 |-> IF p > size THEN index ELSE marks[p]]

SameIndex == size > 0 => QuorumIndexByCounting(marks) = QuorumIndexBySorting(marks)

\* Every later quorum knows the entries below a quorum index.
QuorumsIntersect ==
    \A S, T \in SUBSET (1..size) :
       (size > 0 /\ IsQuorum(S, 1..size) /\ IsQuorum(T, 1..size)) => S \cap T # {}

\* The witness: half of the members is a quorum for no even size.
HalfIsEnough ==
    \A S \in SUBSET (1..size) :
       (size > 0 /\ 2 * Cardinality(S) = size) => IsQuorum(S, 1..size)
=============================================================================
