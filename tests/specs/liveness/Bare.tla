---- MODULE Bare ----
(* A lock that is taken and given back, by whomever. *)
CONSTANT Client
VARIABLE held
Init == held = "nobody"
Take(c) == held = "nobody" /\ held' = c
Free == held # "nobody" /\ held' = "nobody"
Next == Free \/ \E c \in Client : Take(c)
Spec == Init /\ [][Next]_held /\ WF_held(Free)
Taken == []<><<\E c \in Client : Take(c)>>_held
====
