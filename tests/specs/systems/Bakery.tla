------------------------------- MODULE Bakery -------------------------------
(* Lamport's bakery: draw a number above all that you see, then wait until    *)
(* everyone with a smaller one is gone. Numbers are read one customer at a     *)
(* time; the clerk's rule for equal numbers is an operator that a cfg changes. *)
EXTENDS Integers

CONSTANTS Customers, Limit

Customer == 1..Customers

VARIABLES at, choosing, number, highest, pending

vars == <<at, choosing, number, highest, pending>>

\* Equal numbers: the customer who comes first in the alphabet.
Before(i, j) == number[i] < number[j] \/ (number[i] = number[j] /\ i < j)
Rivals(i)    == {j \in Customer \ {i} : number[j] # 0}

Init == /\ at = [i \in Customer |-> "away"]
        /\ choosing = [i \in Customer |-> FALSE]
        /\ number = [i \in Customer |-> 0]
        /\ highest = [i \in Customer |-> 0]
        /\ pending = [i \in Customer |-> {}]

Move(i, to) == at' = [at EXCEPT ![i] = to]

Enter(i) ==
    /\ at[i] = "away"
    /\ Move(i, "drawing")
    /\ choosing' = [choosing EXCEPT ![i] = TRUE]
    /\ highest' = [highest EXCEPT ![i] = 0]
    /\ pending' = [pending EXCEPT ![i] = Customer \ {i}]
    /\ UNCHANGED number

Look(i) ==
    /\ at[i] = "drawing"
    /\ \E j \in pending[i] :
         /\ highest' = [highest EXCEPT ![i] = IF number[j] > @ THEN number[j] ELSE @]
         /\ pending' = [pending EXCEPT ![i] = @ \ {j}]
    /\ UNCHANGED <<at, choosing, number>>

Draw(i) ==
    /\ at[i] = "drawing" /\ pending[i] = {}
    /\ highest[i] < Limit
    /\ number' = [number EXCEPT ![i] = highest[i] + 1]
    /\ choosing' = [choosing EXCEPT ![i] = FALSE]
    /\ pending' = [pending EXCEPT ![i] = Customer \ {i}]
    /\ Move(i, "waiting")
    /\ UNCHANGED highest

Pass(i) ==
    /\ at[i] = "waiting"
    /\ \E j \in pending[i] :
         /\ ~choosing[j]
         /\ j \in Rivals(i) => Before(i, j)
         /\ pending' = [pending EXCEPT ![i] = @ \ {j}]
    /\ UNCHANGED <<at, choosing, number, highest>>

Serve(i) ==
    /\ at[i] = "waiting" /\ pending[i] = {}
    /\ Move(i, "served")
    /\ UNCHANGED <<choosing, number, highest, pending>>

Leave(i) ==
    /\ at[i] = "served"
    /\ Move(i, "away")
    /\ number' = [number EXCEPT ![i] = 0]
    /\ UNCHANGED <<choosing, highest, pending>>

Next == \E i \in Customer : Enter(i) \/ Look(i) \/ Draw(i) \/ Pass(i) \/ Serve(i) \/ Leave(i)

Spec == Init /\ [][Next]_vars

TypeOK == /\ at \in [Customer -> {"away", "drawing", "waiting", "served"}]
          /\ choosing \in [Customer -> BOOLEAN]
          /\ number \in [Customer -> 0..Limit]
          /\ highest \in [Customer -> 0..Limit]
          /\ pending \in [Customer -> SUBSET Customer]

OneIsServed == \A i, j \in Customer : at[i] = "served" /\ at[j] = "served" => i = j

NotAfter(i, j) == number[i] <= number[j]
=============================================================================
