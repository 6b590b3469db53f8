---- MODULE Lock ----
(* A lock that clients ask for, take and give back; a client that waits may be passed over again and again. *)
EXTENDS Integers
CONSTANT Client
VARIABLES owner, waiting, turns
vars == <<owner, waiting, turns>>

Init == owner = "nobody" /\ waiting = {} /\ turns = 0
Ask(c) == c \notin waiting /\ owner # c /\ waiting' = waiting \cup {c} /\ UNCHANGED <<owner, turns>>
Take(c) == owner = "nobody" /\ c \in waiting /\ owner' = c /\ waiting' = waiting \ {c} /\ turns' = 1 - turns
Free(c) == owner = c /\ owner' = "nobody" /\ UNCHANGED <<waiting, turns>>
Next == \E c \in Client : Ask(c) \/ Take(c) \/ Free(c)

Unfair == Init /\ [][Next]_vars
Frees == \A c \in Client : WF_vars(Free(c))
Weak == Unfair /\ Frees /\ \A c \in Client : WF_vars(Take(c))
Strong == Unfair /\ Frees /\ \A c \in Client : SF_vars(Take(c))
(* The same client may be served each time. *)
Some == Unfair /\ Frees /\ SF_vars(\E c \in Client : Take(c))

Served(c) == c \in waiting ~> owner = c
AllServed == \A c \in Client : Served(c)
OneServed == \E c \in Client : []<>(owner = c) \/ <>[](c \notin waiting)
AnyServed == waiting # {} ~> owner # "nobody"
Freed == \A c \in Client : owner = c ~> owner = "nobody"
Turns == []<><<\E c \in Client : Take(c)>>_vars
Patient == \A c \in Client : WF_vars(Take(c))
Same == {[c \in Client |-> c]}
Seen == <<owner, waiting>>

(* A lock without those who wait: what Lock is to anyone who looks at the owner only. *)
B == INSTANCE Bare WITH held <- owner
BareSpec == B!Spec
BareTaken == B!Taken
====
