------------------------------ MODULE SearchTree ------------------------------
(* Keys put into a binary search tree and taken out again. A tree is empty, or   *)
(* has a key and two subtrees; all operations are recursive operators.            *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANT Key

VARIABLES tree, keys

vars == <<tree, keys>>

Empty              == <<>>
Node(left, k, right) == [left |-> left, key |-> k, right |-> right]

RECURSIVE Insert(_, _)
Insert(t, k) ==
    CASE t = Empty -> Node(Empty, k, Empty)
      [] t # Empty /\ k < t.key -> [t EXCEPT !.left = Insert(@, k)]
      [] t # Empty /\ k > t.key -> [t EXCEPT !.right = Insert(@, k)]
      [] OTHER -> t

RECURSIVE Smallest(_)
Smallest(t) == IF t.left = Empty THEN t.key ELSE Smallest(t.left)

RECURSIVE Remove(_, _)
Remove(t, k) ==
    IF k < t.key THEN [t EXCEPT !.left = Remove(@, k)]
    ELSE IF k > t.key THEN [t EXCEPT !.right = Remove(@, k)]
    ELSE IF t.left = Empty THEN t.right
    ELSE IF t.right = Empty THEN t.left
    ELSE LET next == Smallest(t.right) IN [t EXCEPT !.key = next, !.right = Remove(@, next)]

RECURSIVE InOrder(_)
InOrder(t) == IF t = Empty THEN <<>> ELSE InOrder(t.left) \o <<t.key>> \o InOrder(t.right)

RECURSIVE Height(_)
Height(t) ==
    IF t = Empty THEN 0
    ELSE LET left  == Height(t.left)
             right == Height(t.right)
         IN  1 + (IF left > right THEN left ELSE right)

RECURSIVE Has(_, _)
Has(t, k) == t # Empty /\ (t.key = k \/ Has(IF k < t.key THEN t.left ELSE t.right, k))

Init == tree = Empty /\ keys = {}

Put(k) ==
    /\ k \notin keys
    /\ tree' = Insert(tree, k)
    /\ keys' = keys \cup {k}

Take(k) ==
    /\ k \in keys
    /\ tree' = Remove(tree, k)
    /\ keys' = keys \ {k}

Next == \E k \in Key : Put(k) \/ Take(k)

Spec == Init /\ [][Next]_vars

\* The shape of trees, by their height.
RECURSIVE IsTree(_)
IsTree(t) == t = Empty \/ (DOMAIN t = {"left", "key", "right"} /\ t.key \in Key /\ IsTree(t.left) /\ IsTree(t.right))

TypeOK == IsTree(tree) /\ keys \subseteq Key

Sorted == LET listed == InOrder(tree) IN \A i \in 1..Len(listed) - 1 : listed[i] < listed[i + 1]
Same   == keys = {k \in Key : Has(tree, k)} /\ Len(InOrder(tree)) = Cardinality(keys)
Low    == Height(tree) < Cardinality(Key)
===============================================================================
