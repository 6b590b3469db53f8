------------------------------ MODULE Channels ------------------------------
(***************************************************************************)
(* Channels of a network: in order (Fifo), or in any order, with copies.   *)
(*                                                                         *)
(* A channel is a sequence (Fifo) or a bag: [message -> how many copies].  *)
(* A message is a record with `src`, `dst` and `kind`, "request" or        *)
(* "response"; a request is `awaited` while its caller would take the      *)
(* answer; a caller that gave up ignores late answers.  No other module    *)
(* looks into a channel.                                                   *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANT
    Fifo             \* TRUE: a channel delivers in order; FALSE: in any order

ASSUME Fifo \in BOOLEAN

EmptyChannel   == << >>
Deliverable(c) == IF ~Fifo THEN DOMAIN c ELSE IF c = << >> THEN {} ELSE {Head(c)}

Put(c, m) == IF Fifo THEN Append(c, m)
             ELSE [x \in DOMAIN c \cup {m} |-> (IF x \in DOMAIN c THEN c[x] ELSE 0)
                                               + (IF x = m THEN 1 ELSE 0)]

Take(c, m) == IF Fifo THEN Tail(c)
              ELSE IF c[m] > 1 THEN [c EXCEPT ![m] = @ - 1]
              ELSE [x \in DOMAIN c \ {m} |-> c[x]]

Twice(c, m) == IF Fifo THEN <<m>> \o c ELSE [c EXCEPT ![m] = @ + 1]

\* All messages of a channel, those that must wait for their turn as well.
Messages(c) == IF Fifo THEN {c[k] : k \in 1..Len(c)} ELSE DOMAIN c

Sent(net, m)     == [net EXCEPT ![m.src][m.dst] = Put(@, m)]
Received(net, m) == [net EXCEPT ![m.src][m.dst] = Take(@, m)]

\* The requests of c that `Gone` holds for are no longer awaited.
NotAwaited(c, Gone(_)) ==
    LET After(m) == IF m.kind = "request" /\ Gone(m) THEN [m EXCEPT !.awaited = FALSE] ELSE m IN
    IF Fifo THEN [k \in 1..Len(c) |-> After(c[k])]
    ELSE [x \in {After(m) : m \in DOMAIN c} |->
            LET Count(m) == IF m \in DOMAIN c /\ After(m) = x THEN c[m] ELSE 0
                twin     == IF x.kind = "request" THEN [x EXCEPT !.awaited = TRUE] ELSE x
            IN  IF twin = x THEN Count(x) ELSE Count(x) + Count(twin)]

\* The answers in c that `Gone` holds for are ignored when they arrive.
WithoutAnswers(c, Gone(_)) ==
    LET Stays(m) == ~(m.kind = "response" /\ Gone(m)) IN
    IF Fifo THEN SelectSeq(c, Stays) ELSE [m \in {x \in DOMAIN c : Stays(x)} |-> c[m]]

\* n takes no more answers from `peer` to the requests that `Gone` holds for.
Abandon(net, n, peer, Gone(_)) ==
    [net EXCEPT ![n][peer] = NotAwaited(@, Gone), ![peer][n] = WithoutAnswers(@, Gone)]

=============================================================================
