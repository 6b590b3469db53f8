------------------------------- MODULE Sorting -------------------------------
(* Sorting by exchanges of neighbours, in any order, with a counter of steps;   *)
(* and the same array seen through a linear order given as a parameter.         *)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS Item, Below(_, _)

VARIABLES array, start, steps

vars == <<array, start, steps>>

Size == Cardinality(Item)

Init == /\ array \in {order \in [1..Size -> Item] : {order[i] : i \in 1..Size} = Item}
        /\ start = array
        /\ steps = 0

Inversions(s) == {<<i, j>> \in (1..Size) \X (1..Size) : i < j /\ Below(s[j], s[i])}

Exchange(i) ==
    /\ Below(array[i + 1], array[i])
    /\ array' = [array EXCEPT ![i] = array[i + 1], ![i + 1] = array[i]]
    /\ steps' = steps + 1
    /\ UNCHANGED start

\* One item is put where it belongs at once.
Insert(i) ==
    /\ i > 1
    /\ \A j \in 1..i - 2 : ~Below(array[j + 1], array[j])
    /\ array' = SortSeq(SubSeq(array, 1, i), Below) \o SubSeq(array, i + 1, Size)
    /\ array' # array
    /\ steps' = steps + Cardinality(Inversions(array)) - Cardinality(Inversions(array'))
    /\ UNCHANGED start

Next == \/ \E i \in 1..Size - 1 : Exchange(i)
        \/ \E i \in 1..Size : Insert(i)

Spec == Init /\ [][Next]_vars

TypeOK == /\ array \in [1..Size -> Item]
          /\ start \in [1..Size -> Item]
          /\ steps \in Nat

Sorted     == SortSeq(start, Below)
IsSorted   == Inversions(array) = {} <=> array = Sorted
Counted    == steps = Cardinality(Inversions(start)) - Cardinality(Inversions(array))
FewSteps   == steps < 3
Smaller(a, b) == a < b
==============================================================================
