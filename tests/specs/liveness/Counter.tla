---- MODULE Counter ----
(* A number that goes round, and a switch that is set at some numbers, each with formulas of all kinds about it. *)
EXTENDS Integers
VARIABLES x, y
vars == <<x, y>>

Init == x = 0 /\ y = 0
Up == x < 3 /\ x' = x + 1 /\ UNCHANGED y
Reset == x = 3 /\ x' = 0 /\ UNCHANGED y
Off == y = 1 /\ y' = 0 /\ UNCHANGED x
Set(k) == y = 0 /\ x = k /\ y' = 1 /\ UNCHANGED x
Jump == x' = 5 /\ UNCHANGED y
Next == Up \/ Reset \/ Off \/ \E k \in 0..1 : Set(k)

(* Assumptions. *)
Plain == Init /\ [][Next]_vars
Fair == Plain /\ WF_vars(Next)
WeakUp == Plain /\ WF_vars(Up) /\ WF_vars(Reset)
WeakEach == WeakUp /\ \A k \in 0..1 : WF_vars(Set(k))
StrongEach == WeakUp /\ (\A k \in 0..1 : SF_vars(Set(k))) /\ WF_vars(Off)
WeakAny == Plain /\ WF_vars(Up \/ Reset) /\ WF_vars(\E k \in 0..1 : Set(k))
StrongAny == Plain /\ WF_vars(Up \/ Reset) /\ SF_vars(\E k \in 0..1 : Set(k))
(* Jump is enabled for ever, but no step of Next is one: no behaviour is as fair as that. *)
NeverJumps == WeakUp /\ WF_vars(Jump)
OnlyX == Plain /\ WF_x(Next)
Often == Plain /\ []<>(x = 2)
OftenStep == Plain /\ []<><<Up>>_vars

(* Properties. *)
Arrives == <>(x = 3)
Returns == []<>(x = 3)
StaysOff == <>[](y = 0)
LeadsBack == x = 3 ~> x = 0
Answered == [](x = 1 => <>(x = 2))
OftenUp == []<><<Up>>_vars
WeakProperty == WF_vars(Up)
StrongProperty == SF_vars(Set(0))
WeakSet == WF_vars(Set(0))
StrongOff == SF_vars(Off)
EachNumber == \A k \in 0..3 : []<>(x = k)
OneNumber == \E k \in 0..3 : <>[](x = k)
OftenOrNot == []<>(y = 1) \/ <>[](y = 0)
OnThenOff == []<>(y = 1) => []<>(y = 0)
NotAlways == ~[](x < 3)
EitherAlways == [](x = 0) \/ [](y = 0)
FromTheStart == (x = 0) => [](y = 0)
OneAfterAnother == <>(x = 1 /\ <>(x = 3))
Both == []<>(x = 3) /\ []<>(y = 1)
NoMoreSet == <>[][~Set(1)]_vars
OffAndSet == []<><<Off>>_vars => []<><<Set(0) \/ Set(1)>>_vars
ByLet == LET Seen(k) == <>(x = k) IN \A k \in 1..3 : Seen(k)
ByIf == IF x = 0 THEN <>(x = 1) ELSE <>(x = 2)
OffLater == [](y = 1 => <>(y = 0 /\ x # 0))
Nested == []((x = 0 /\ y = 1) ~> (y = 0))
WhereEnabled == [](ENABLED <<Up>>_vars => <>(x = 3))
CanJump == []<>(ENABLED Jump)

(* TLC has no answer to these: it takes no <=> of temporal formulas, and none as an argument, and evaluates what a
   guard excludes. *)
Divided == x # 0 => <>(1 \div x = 1)
Equal == (<>(x = 1)) <=> (<>(x = 2))
Later(F) == <>F
ByArgument == Later(x = 3) /\ Later([]<>(x = 3))

(* Constraints. *)
Low == x < 3
NoReset == ~(x = 3 /\ x' = 0)
====
