------------------------------ MODULE BagQueue ------------------------------
(* Producers and consumers around a store of bounded size that keeps no order: *)
(* a bag. What was made is, at any time, in the store or has been eaten.       *)
EXTENDS Integers, FiniteSets, Bags

CONSTANTS Kind, Size, Total

VARIABLES store, made, eaten

vars == <<store, made, eaten>>

Init == store = EmptyBag /\ made = EmptyBag /\ eaten = EmptyBag

One(k) == SetToBag({k})

Make(k) ==
    /\ BagCardinality(made) < Total
    /\ BagCardinality(store) < Size
    /\ store' = store (+) One(k)
    /\ made' = made (+) One(k)
    /\ UNCHANGED eaten

Eat(k) ==
    /\ BagIn(k, store)
    /\ store' = store (-) One(k)
    /\ eaten' = eaten (+) One(k)
    /\ UNCHANGED made

\* Somebody takes one of each kind there is.
EatOneOfEach ==
    /\ LET meal == SetToBag(BagToSet(store)) IN
         /\ BagCardinality(meal) > 1
         /\ store' = store (-) meal
         /\ eaten' = eaten (+) meal
    /\ UNCHANGED made

Next == \/ \E k \in Kind : Make(k) \/ Eat(k)
        \/ EatOneOfEach

Spec == Init /\ [][Next]_vars

TypeOK == /\ \A bag \in {store, made, eaten} : IsABag(bag) /\ BagToSet(bag) \subseteq Kind
          /\ BagCardinality(store) \in 0..Size

NothingLost == /\ made = store (+) eaten
               /\ eaten \sqsubseteq made
               /\ \A k \in Kind : CopiesIn(k, made) = CopiesIn(k, store) + CopiesIn(k, eaten)

\* Within the store's bags every sub-bag is smaller or the same.
SubBags == \A part \in SubBag(store) : part \sqsubseteq store /\ BagCardinality(part) <= BagCardinality(store)

NeverFull == BagCardinality(store) < Size

\* Eating is never undone.
EatenGrowsProp == [][eaten \sqsubseteq eaten']_vars
=============================================================================
