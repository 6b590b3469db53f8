---------------------------- MODULE BoundedBuffer ----------------------------
(* A buffer that holds at most Size items and returns them in their order. *)
EXTENDS Naturals, Sequences

CONSTANTS Item, Size

VARIABLES items, \* the items in the buffer, the oldest first
          taken  \* how many were taken

Init == items = << >> /\ taken = 0

Put(x) == Len(items) < Size /\ items' = Append(items, x) /\ UNCHANGED taken
Take == items # << >> /\ items' = Tail(items) /\ taken' = taken + 1
Clear == items # << >> /\ items' = << >> /\ UNCHANGED taken

Next == (\E x \in Item : Put(x)) \/ Take \/ Clear
Spec == Init /\ [][Next]_<<items, taken>>

Observe == [next |-> IF items = << >> THEN "nothing" ELSE Head(items), size |-> Len(items)]

\* INV Bounded: the buffer is never longer than it may be.
Bounded == Len(items) <= Size

\* INV FewTaken: false of any buffer that is used.
FewTaken == taken < 2
=============================================================================
