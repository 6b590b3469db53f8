------------------------------- MODULE Quorum -------------------------------
(***************************************************************************)
(* The quorum rule of DLedger: what a majority is, and which index a       *)
(* majority is known to store.                                             *)
(*                                                                         *)
(* Two forms of the index rule were published, and they are one:           *)
(*   0.1    count, for every watermark, how many peers have reached it     *)
(*          (QuorumAckChecker.doWork, the nested loop with isQuorum);      *)
(*   0.2.0  sort the watermarks in descending order and take the element   *)
(*          size/2, counted from 0.                                        *)
(* If v is the element size/2, then size/2 + 1 peers have reached v, which *)
(* is exactly isQuorum; and a larger value stands before it, so it is      *)
(* reached by at most size/2 peers, which is not.  TLC checks this on      *)
(* small domains (models/MCQuorum), z3 for all integers (lockstep prove).  *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

\* MemberState.isQuorum(num): num >= size/2 + 1.
IsQuorum(voters, members) == Cardinality(voters) >= Cardinality(members) \div 2 + 1

Max(S) == CHOOSE x \in S : \A y \in S : y <= x
Min(S) == CHOOSE x \in S : \A y \in S : x <= y

\* The counting form.  marks: [peer -> index], -1 where nothing is known.
QuorumIndexByCounting(marks) ==
    LET members      == DOMAIN marks
        ReachedBy(i) == {p \in members : marks[p] >= i}
    IN  Max({-1} \cup {i \in {marks[p] : p \in members} : IsQuorum(ReachedBy(i), members)})

\* The values of marks at the peers in S, largest first.
RECURSIVE Descending(_, _)
Descending(marks, S) ==
    IF S = {}
    THEN << >>
    ELSE LET highest == Max({marks[p] : p \in S})
             holders == {p \in S : marks[p] = highest}
         IN  [k \in 1..Cardinality(holders) |-> highest] \o Descending(marks, S \ holders)

\* The sorted form: element size/2 counted from 0, so size/2 + 1 counted from 1.
QuorumIndexBySorting(marks) ==
    Descending(marks, DOMAIN marks)[Cardinality(DOMAIN marks) \div 2 + 1]

=============================================================================
