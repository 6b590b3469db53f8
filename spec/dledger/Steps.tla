------------------------------- MODULE Steps --------------------------------
(***************************************************************************)
(* The form of an action.  The reader learns how the rest of the spec is   *)
(* written.                                                                *)
(*                                                                         *)
(* A handler is a pure operator: from the record of one node as it was     *)
(* `before`, and what it acts on, to                                       *)
(*                                                                         *)
(*     [node |-> the record afterwards, out |-> <<the messages it sends>>] *)
(*                                                                         *)
(* It reads no variable.  An action of node n is a guard and a handler,    *)
(* put together by one of these forms, which differ in the message that n  *)
(* handles:                                                                *)
(*                                                                         *)
(*     Step           none, and it sends none                              *)
(*     Act            none                                                 *)
(*     ActOnAll       none, and it sends one to each peer                  *)
(*     HandleRequest  a request that a leader pushed                       *)
(*     Receive        an answer to an APPEND                               *)
(*     TakeAnswer     an answer to a COMPARE or a TRUNCATE                 *)
(*     GiveUp         none: it waits no more for such an answer            *)
(*     Hear           a message of an election                             *)
(*                                                                         *)
(* Clients has a form for steps in which clients are answered, and         *)
(* MessageElections two for rounds.  The few other actions say themselves  *)
(* what becomes of each variable.                                          *)
(*                                                                         *)
(* An action chooses its parameters in the quantifiers that it begins      *)
(* with.  Given a state and the parameters there is one successor at most. *)
(***************************************************************************)
EXTENDS Messages

\* What a handler gives that sends nothing.
Quietly(after) == [node |-> after, out |-> << >>]

Step(n, after) ==
    /\ node' = [node EXCEPT ![n] = after]
    /\ UNCHANGED <<network, received, elected, history>>

Act(n, handled) ==
    /\ node' = [node EXCEPT ![n] = handled.node]
    /\ network' = SentAll(network, handled.out)
    /\ UNCHANGED <<received, elected, history>>

ActOnAll(n, after, To(_)) ==
    /\ node' = [node EXCEPT ![n] = after]
    /\ network' = [network EXCEPT ![n] = [p \in Peers(n) |-> Put(@[p], To(p))]]
    /\ UNCHANGED <<received, elected, history>>

-----------------------------------------------------------------------------
(* What a leader pushes.  Without RequestQueues a request is handled when  *)
(* it is received; with them HandlePush receives it (see Follower), and    *)
(* the EntryHandler takes it from its queues later.                        *)

\* The requests that the EntryHandler of n may take next.  COMPARE, TRUNCATE and COMMIT come first.
Requests(n) ==
    LET queues == received[n] IN
    IF ~RequestQueues THEN Inbox(n)
    ELSE IF queues.compareOrTruncateRequests # << >> THEN {Head(queues.compareOrTruncateRequests)}
    ELSE queues.writeRequestMap

HandleRequest(n, m, handled) ==
    /\ node' = [node EXCEPT ![n] = handled.node]
    /\ network' = SentAll(IF RequestQueues THEN network ELSE Received(network, m), handled.out)
    /\ received' = IF ~RequestQueues THEN received
                   ELSE IF m.type = "APPEND" THEN [received EXCEPT ![n].writeRequestMap = @ \ {m}]
                   ELSE [received EXCEPT ![n].compareOrTruncateRequests = Tail(@)]
    /\ UNCHANGED <<elected, history>>

\* The answer to the request m, if its caller still waits for it.
Reply(n, m, state, code) == IF m.awaited THEN <<Response(n, m, state, code)>> ELSE << >>

-----------------------------------------------------------------------------
(* The answers.  A dispatcher has one COMPARE or TRUNCATE without answer   *)
(* at a time.  When it has the answer, or gives up, it takes no other: of  *)
(* the request there may be copies, under way or in the peer's queues.  An *)
(* APPEND is answered to whoever listens.                                  *)

\* The same as Channels does for requests under way, for those in the queues of a peer.
AbandonedInQueues(queues, n, peer, Gone(_)) ==
    LET After(m) == IF m.src = n /\ Gone(m) THEN [m EXCEPT !.awaited = FALSE] ELSE m IN
    [queues EXCEPT ![peer] =
        [writeRequestMap |-> {After(m) : m \in @.writeRequestMap},
         compareOrTruncateRequests |-> [k \in 1..Len(@.compareOrTruncateRequests) |->
                                           After(@.compareOrTruncateRequests[k])]]]

Receive(n, m, handled) ==
    /\ node' = [node EXCEPT ![n] = handled.node]
    /\ network' = SentAll(Received(network, m), handled.out)
    /\ UNCHANGED <<received, elected, history>>

TakeAnswer(n, m, handled) ==
    LET Gone(x) == x.type = m.type
    IN  /\ node' = [node EXCEPT ![n] = handled.node]
        /\ network' = SentAll(Abandoned(Received(network, m), n, m.src, Gone), handled.out)
        /\ received' = AbandonedInQueues(received, n, m.src, Gone)
        /\ UNCHANGED <<elected, history>>

\* n gives up waiting for an answer to its call of this type to peer.
GiveUp(n, peer, type, handled) ==
    LET Gone(m) == m.type = type
    IN  /\ node' = [node EXCEPT ![n] = handled.node]
        /\ network' = SentAll(Abandoned(network, n, peer, Gone), handled.out)
        /\ received' = AbandonedInQueues(received, n, peer, Gone)
        /\ UNCHANGED <<elected, history>>

-----------------------------------------------------------------------------
(* Elections.                                                              *)

Hear(n, m, handled) ==
    /\ node' = [node EXCEPT ![n] = handled.node]
    /\ network' = SentAll(ReceivedInLane(network, m, IsElection), handled.out)
    /\ UNCHANGED <<received, elected, history>>

=============================================================================
