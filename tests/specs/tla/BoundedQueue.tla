---------------------------- MODULE BoundedQueue ----------------------------
(* Producers and consumers around a queue: sequences, CASE, a constraint,  *)
(* an action constraint, an ASSUME, and a guard that a cfg overrides.      *)
EXTENDS Sequences, FiniteSets, Integers

CONSTANTS Process, Bound, Letter

ASSUME Bound \in Nat /\ Process # {}

VARIABLES queue, last, count

vars == <<queue, last, count>>

MayPut(p) == TRUE

Init == /\ queue = <<>>
        /\ last \in [Process -> {"none"}]
        /\ count = 0

Put(p, letter) ==
    /\ MayPut(p)
    /\ queue' = Append(queue, [from |-> p, letter |-> letter])
    /\ count' = count + 1
    /\ UNCHANGED last

Get(p) ==
    /\ queue # <<>>
    /\ Head(queue).from # p
    /\ LET m == Head(queue) IN last' = [last EXCEPT ![p] = m.letter]
    /\ queue' = Tail(queue)
    /\ count' = count

Rotate == /\ Len(queue) > 1
          /\ queue' = Tail(queue) \o <<Head(queue)>>
          /\ UNCHANGED <<last, count>>

Twist(p) ==
    CASE Len(queue) = 0 -> FALSE
      [] Len(queue) = 1 /\ last[p] = "none" -> Rotate
      [] Len(queue) = 2 -> Rotate
      [] OTHER -> /\ queue' = SelectSeq(queue, LAMBDA m : m.from # p)
                  /\ UNCHANGED <<last, count>>

Next == \/ \E p \in Process, letter \in Letter : Put(p, letter)
        \/ \E p \in Process : Get(p)
        \/ \E p \in Process : Twist(p)

Short     == Len(queue) <= Bound /\ count < 4
NotThrice == ~(count' = 3 /\ queue' = queue)

CanPut(p) == Len(queue) < Bound

TypeOK == /\ queue \in Seq([from: Process, letter: Letter])
          /\ last \in [Process -> Letter \cup {"none"}]
          /\ count \in Nat
=============================================================================
