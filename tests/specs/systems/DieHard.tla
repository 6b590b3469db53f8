------------------------------- MODULE DieHard -------------------------------
(* Jugs without marks: fill one, empty one, or pour one into another until   *)
(* either is done. Is there a way to have just Goal gallons in some jug?      *)
EXTENDS Integers

CONSTANTS Jug, Capacity, Goal

ASSUME /\ Capacity \in [Jug -> Nat \ {0}]
       /\ Goal \in Nat

VARIABLE contents

Min(a, b) == IF a <= b THEN a ELSE b
Free(j)   == Capacity[j] - contents[j]

Init == contents = [j \in Jug |-> 0]

Fill(j)  == contents' = [contents EXCEPT ![j] = Capacity[j]]
Empty(j) == contents' = [contents EXCEPT ![j] = 0]

Pour(from, to) ==
    LET poured == Min(contents[from], Free(to))
    IN  contents' = [contents EXCEPT ![from] = @ - poured, ![to] = @ + poured]

Next == \/ \E j \in Jug : Fill(j) \/ Empty(j)
        \/ \E from \in Jug : \E to \in Jug \ {from} : Pour(from, to)

Spec == Init /\ [][Next]_contents

TypeOK       == contents \in [Jug -> Nat]
NoneOverflow == \A j \in Jug : contents[j] <= Capacity[j]
NotSolved    == \A j \in Jug : contents[j] # Goal

\* A pouring spills nothing: what changes in two jugs leaves their sum alone.
Changed         == {j \in Jug : contents'[j] # contents[j]}
PouringKeepsAll == \A i, j \in Changed : i # j => contents[i] + contents[j] = contents'[i] + contents'[j]
PouringProp     == [][PouringKeepsAll]_contents

\* The jugs of the riddle, and a third to make it longer.
TwoJugs       == {"big", "small"}
TwoCapacity   == [big |-> 5, small |-> 3]
ThreeJugs     == {"big", "middle", "small"}
ThreeCapacity == [big |-> 12, middle |-> 7, small |-> 4]
==============================================================================
