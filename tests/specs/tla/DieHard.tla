------------------------------ MODULE DieHard ------------------------------
(* Two jugs, of three and of five gallons: can one measure four?           *)
EXTENDS Naturals

VARIABLES big, small

vars == <<big, small>>

Min(a, b) == IF a < b THEN a ELSE b

TypeOK == big \in 0..5 /\ small \in 0..3
NotFour == big # 4

Init == big = 0 /\ small = 0

FillBig    == big' = 5 /\ UNCHANGED small
FillSmall  == small' = 3 /\ big' = big
EmptyBig   == big' = 0 /\ UNCHANGED <<small>>
EmptySmall == small' = 0 /\ UNCHANGED big
ToBig      == LET poured == Min(small, 5 - big) IN
              /\ big' = big + poured
              /\ small' = small - poured
ToSmall    == LET poured == Min(big, 3 - small) IN
              /\ small' = small + poured
              /\ big' = big - (small' - small)

Next == FillBig \/ FillSmall \/ EmptyBig \/ EmptySmall \/ ToBig \/ ToSmall

Spec == Init /\ [][Next]_vars

BigKeepsProp == [][big' = big \/ small' = small \/ big + small = big' + small']_vars
NeverBothProp == [][~(big' # big /\ small' # small)]_vars
=============================================================================
