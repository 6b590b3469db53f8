------------------------------ MODULE Channels ------------------------------
(***************************************************************************)
(* The network: from each node to each other one leads a channel.  The     *)
(* reader learns what a channel may do to messages, and how a caller gives *)
(* up waiting.  No other module looks into a channel.                      *)
(*                                                                         *)
(* With Fifo a channel is a sequence, and delivers its first message.      *)
(* Without Fifo it is a bag, [message -> how many copies], and delivers    *)
(* any of them.  Neither loses a message by itself: loss and duplication   *)
(* are actions of a spec.                                                  *)
(*                                                                         *)
(* A message is a record with at least `src` and `dst`, the nodes it goes  *)
(* from and to, and `kind`: a "request", or the "response" to one.  A      *)
(* request has the field `awaited`: whether its caller would still take an *)
(* answer.  The code keeps a future for each call instead; a caller that   *)
(* gives up, or that has its answer, forgets the future.  Here it clears   *)
(* the flag of its requests under way, and their answers are dropped.      *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANT Fifo  \* whether a channel keeps the order

ASSUME Fifo \in BOOLEAN

-----------------------------------------------------------------------------
(* One channel.                                                            *)

EmptyChannel == << >>

\* All its messages, also those that must wait for their turn.
MessagesIn(channel) == IF Fifo THEN {channel[k] : k \in 1..Len(channel)} ELSE DOMAIN channel

\* Those that may be delivered next.
Deliverable(channel) ==
    IF ~Fifo THEN DOMAIN channel ELSE IF channel = << >> THEN {} ELSE {Head(channel)}

Put(channel, m) ==
    IF Fifo THEN Append(channel, m)
    ELSE [x \in DOMAIN channel \cup {m} |->
             (IF x \in DOMAIN channel THEN channel[x] ELSE 0) + (IF x = m THEN 1 ELSE 0)]

Take(channel, m) ==
    IF Fifo THEN Tail(channel)
    ELSE IF channel[m] > 1 THEN [channel EXCEPT ![m] = @ - 1]
    ELSE [x \in DOMAIN channel \ {m} |-> channel[x]]

\* The message m, one that may be delivered next, will be delivered once more.
Twice(channel, m) == IF Fifo THEN <<m>> \o channel ELSE [channel EXCEPT ![m] = @ + 1]

\* A bag has each of its messages once at least.
AreCounted(channel) == ~Fifo => channel \in [DOMAIN channel -> Nat \ {0}]

\* The number of messages in it, copies included; no more than `most` copies of one message count.
Size(channel, most) ==
    IF Fifo THEN Len(channel)
    ELSE Cardinality({<<m, k>> \in (DOMAIN channel) \X (1..most) : k <= channel[m]})

-----------------------------------------------------------------------------
(* A lane: some messages of a channel, which the others do not hold up.    *)
(* Among themselves they keep their order.                                 *)

Places(channel, InLane(_)) == {k \in 1..Len(channel) : InLane(channel[k])}

\* Those of the lane that may be delivered next.
DeliverableInLane(channel, InLane(_)) ==
    IF ~Fifo THEN {m \in DOMAIN channel : InLane(m)}
    ELSE LET places == Places(channel, InLane)
         IN  {channel[k] : k \in {i \in places : \A j \in places : i <= j}}

TakeInLane(channel, m, InLane(_)) ==
    IF ~Fifo THEN Take(channel, m)
    ELSE LET places == Places(channel, InLane)
             first  == CHOOSE i \in places : \A j \in places : i <= j
         IN  SubSeq(channel, 1, first - 1) \o SubSeq(channel, first + 1, Len(channel))

SizeOfLane(channel, InLane(_), most) ==
    IF Fifo THEN Cardinality(Places(channel, InLane))
    ELSE Cardinality({<<m, k>> \in (DOMAIN channel) \X (1..most) : InLane(m) /\ k <= channel[m]})

-----------------------------------------------------------------------------
(* The network: net[src][dst] is the channel from src to dst.              *)

Sent(net, m)     == [net EXCEPT ![m.src][m.dst] = Put(@, m)]
Received(net, m) == [net EXCEPT ![m.src][m.dst] = Take(@, m)]

ReceivedInLane(net, m, InLane(_)) == [net EXCEPT ![m.src][m.dst] = TakeInLane(@, m, InLane)]

\* The messages of the sequence `out` are sent, one after the other.
RECURSIVE SentAll(_, _)
SentAll(net, out) == IF out = << >> THEN net ELSE SentAll(Sent(net, Head(out)), Tail(out))

-----------------------------------------------------------------------------
(* A caller gives up the calls whose messages m satisfy Gone(m).           *)

\* The requests that are given up are no longer awaited.  In a bag this may make two messages one: r, which
\* was awaited, becomes what its `twin` is already, a copy of the same request that was given up before.
\* Then their copies add up.  With r awaited and q = [r EXCEPT !.awaited = FALSE]:
\*     [r |-> 2, q |-> 1]   becomes   [q |-> 3]
\* From q's side, its twin is r.
NotAwaited(channel, Gone(_)) ==
    LET After(m) == IF m.kind = "request" /\ Gone(m) THEN [m EXCEPT !.awaited = FALSE] ELSE m IN
    IF Fifo THEN [k \in 1..Len(channel) |-> After(channel[k])]
    ELSE [x \in {After(m) : m \in DOMAIN channel} |->
            LET Count(m) == IF m \in DOMAIN channel /\ After(m) = x THEN channel[m] ELSE 0
                twin     == IF x.kind = "request" THEN [x EXCEPT !.awaited = TRUE] ELSE x
            IN  IF twin = x THEN Count(x) ELSE Count(x) + Count(twin)]

\* The answers to what is given up are dropped.
WithoutAnswers(channel, Gone(_)) ==
    LET Stays(m) == ~(m.kind = "response" /\ Gone(m)) IN
    IF Fifo THEN SelectSeq(channel, Stays)
    ELSE [m \in {x \in DOMAIN channel : Stays(x)} |-> channel[m]]

\* n gives up its calls to `peer`.
Abandoned(net, n, peer, Gone(_)) ==
    [net EXCEPT ![n][peer] = NotAwaited(@, Gone), ![peer][n] = WithoutAnswers(@, Gone)]

\* n gives up its calls to all nodes.
AllAbandoned(net, n, Gone(_)) ==
    [p \in DOMAIN net |-> [q \in DOMAIN net[p] |->
        IF p = n THEN NotAwaited(net[p][q], Gone)
        ELSE IF q = n THEN WithoutAnswers(net[p][q], Gone)
        ELSE net[p][q]]]

=============================================================================
