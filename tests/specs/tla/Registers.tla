----------------------------- MODULE Registers -----------------------------
(* INSTANCE with and without parameters, operator arguments, ENABLED,      *)
(* assignments in IF, CASE, LET and quantifiers, EXCEPT in depth.          *)
EXTENDS Integers, Sequences

VARIABLES x, y, table

vars == <<x, y>>
all == <<vars, table>>

Plus(a, b) == a + b

X == INSTANCE Counter WITH Step <- 1, Limit <- 3, Op <- Plus, value <- x
Y(s) == INSTANCE Counter WITH Step <- s, Limit <- 4, Op <- LAMBDA a, b : a + b, value <- y

Assign(v, e) == v' = e
Is(target, e) == target = e
Keep(v) == UNCHANGED v
Both(A, B) == A /\ B

Init == /\ \E n \in {0, 1} : x = n
        /\ y \in {x, 0}
        /\ table = [i \in 1..2 |-> [a |-> <<0, 0>>, b |-> "none"]]

RaiseX(n) == X!Raise(n) /\ Keep(<<y, table>>)
RaiseY(n) == Both(Y(2)!Raise(n), UNCHANGED <<x, table>>)

Reset == /\ IF x > 2 THEN X!Reset /\ y' = y
            ELSE LET Down == y' = 0
                     Same == x' = x
                 IN  ~ENABLED RaiseY(1) /\ Down /\ Same
         /\ table' = [table EXCEPT ![1].a[2] = @ + 1, ![1].b = "reset", ![2] = [@ EXCEPT !.b = table[1].b]]
         /\ table[1].a[2] < 1

Swap == /\ Assign(x, y)
        /\ Is(y', x)
        /\ x' < y'
        /\ UNCHANGED table

Scatter ==
    /\ \A i \in {1, 2} : table[i].b = "none" \/ \E k \in {1} : k = i
    /\ x' \in {0, x}
    /\ \/ y' = x'
       \/ y' \in {0, 1} /\ y' = x'
    /\ x' = y'
    /\ table' = table

Tidy == CASE x = 2 -> x' = 1 /\ UNCHANGED <<y, table>>
          [] x = 1 /\ y = 1 -> UNCHANGED all
          [] OTHER -> FALSE

Stall == /\ [x' = y /\ y < 2]_x
         /\ <<y' \in {x, y}>>_y
         /\ ~ENABLED <<Swap>>_x
         /\ (x = 1 => table' = table)
         /\ x # 1 => table' \in {table}

Next == \/ Stall
        \/ \E n \in 1..2 : RaiseX(n)
        \/ \E n \in {1} : RaiseY(n)
        \/ Reset
        \/ Swap
        \/ Scatter
        \/ Tidy

Sum[i \in Nat] == IF i = 0 THEN 0 ELSE i + Sum[i - 1]
Shapes == table \in UNION {[1..2 -> [a : UNION {[1..2 -> 0..2], [1..3 -> 0..2]}, b : {"none", "reset"}]]}
Small == x + y < Sum[5]
=============================================================================
