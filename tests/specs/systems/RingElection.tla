---------------------------- MODULE RingElection ----------------------------
(* Chang and Roberts: nodes in a ring send numbers to their right-hand         *)
(* neighbours and swallow those that are below their own; the highest number   *)
(* comes home, and its node leads. The order of the ring is arbitrary.         *)
EXTENDS Integers, FiniteSets, TLC

CONSTANT Id

VARIABLES ring, inbox, state

vars == <<ring, inbox, state>>

Place == 1..Cardinality(Id)

Least == CHOOSE least \in Id : \A i \in Id : least <= i

\* Turning a ring changes nothing: the lowest number comes first.
Init == /\ ring \in {order \in [Place -> Id] : {order[p] : p \in Place} = Id /\ order[1] = Least}
        /\ inbox = [p \in Place |-> {}]
        /\ state = [p \in Place |-> "asleep"]

Right(p)      == (p % Cardinality(Id)) + 1
Forward(p, i) == [inbox EXCEPT ![Right(p)] = @ \cup {i}]

Wake(p) ==
    /\ state[p] = "asleep"
    /\ state' = [state EXCEPT ![p] = "candidate"]
    /\ inbox' = Forward(p, ring[p])
    /\ UNCHANGED ring

Receive(p) ==
    \E i \in inbox[p] :
      LET own   == ring[p]
          taken == [inbox EXCEPT ![p] = @ \ {i}]
      IN  /\ CASE i > own -> /\ inbox' = [taken EXCEPT ![Right(p)] = @ \cup {i}]
                             /\ state' = [state EXCEPT ![p] = "follower"]
               [] i < own -> /\ inbox' = IF state[p] = "asleep" THEN [taken EXCEPT ![Right(p)] = @ \cup {own}] ELSE taken
                             /\ state' = [state EXCEPT ![p] = IF @ = "asleep" THEN "candidate" ELSE @]
               [] i = own -> /\ inbox' = taken
                             /\ state' = [state EXCEPT ![p] = "leader"]
          /\ UNCHANGED ring

Next == \E p \in Place : Wake(p) \/ Receive(p)

Spec == Init /\ [][Next]_vars

TypeOK == /\ ring \in [Place -> Id]
          /\ inbox \in [Place -> SUBSET Id]
          /\ state \in [Place -> {"asleep", "candidate", "follower", "leader"}]

Leaders     == {p \in Place : state[p] = "leader"}
OneLeader   == Cardinality(Leaders) <= 1
HighestLeads == \A p \in Leaders, i \in Id : ring[p] >= i
NobodyLeads == Leaders = {}

\* The ring is one of the orders of its numbers.
IsOrder == \E f \in Permutations(Id) : \A p \in Place : \E i \in Id : f[i] = ring[p]
LeadsForEverProp == [][Leaders \subseteq Leaders']_vars
=============================================================================
