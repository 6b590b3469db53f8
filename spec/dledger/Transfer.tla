------------------------------ MODULE Transfer ------------------------------
(***************************************************************************)
(* Transfer of leadership (VoteMessages).  The reader learns how a leader  *)
(* hands over to a peer, its transferee.                                   *)
(*                                                                         *)
(* The leader takes no more appends, and asks the transferee to take over. *)
(* The transferee waits until its log is as long as the leader's was, then *)
(* stands for election in the next term.  When its role changes, it        *)
(* answers the old leader.                                                 *)
(***************************************************************************)
EXTENDS MessageElections

\* DLedgerConfig: the number of entries by which a transferee may be behind.  This is the default.
MaxLeadershipTransferWaitIndex == 1000

-----------------------------------------------------------------------------
(* At the leader: it calls the transferee.                                 *)

\* The call has its answer.  A leader forgets its transferee here; any other node did when its role changed.
Transferred(before, call, code) ==
    LET forgets == /\ before.role = "LEADER"
                   /\ code # "SUCCESS" \/ before.currTerm = call.term
    IN  [before EXCEPT !.election.transfers = @ \ {call},
                       !.election.transferee = IF forgets THEN NoNode ELSE @]

\* ACTION HandleLeadershipTransfer: the leader is commanded to hand over to a peer, and accepts.
\* Source: DLedgerServer.handleLeadershipTransfer and DLedgerLeaderElector's, at the leader.
HandleLeadershipTransfer(n) ==
    \E transferee \in Peers(n) :
    LET before     == node[n]
        fallBehind == EndIndex(before.log) - before.peerWaterMarks[transferee]
        call       == [transferee |-> transferee, term |-> before.currTerm]
        after      == [before EXCEPT !.election.transferee = transferee,
                                     !.election.transfers = @ \cup {call}]
    IN  /\ VoteMessages
        /\ Transfers /\ MayTransfer(n)
        /\ TransferCommandCode(Member(n, before), before.currTerm, fallBehind,
                               MaxLeadershipTransferWaitIndex) = "SUCCESS"
        /\ call \notin before.election.transfers
        /\ Act(n, [node |-> after, out |-> <<TransferRequest(n, transferee, before)>>])

\* ACTION HandleTransferResponse: the old leader hears what became of its transfer; late, it is ignored.
\* Source: DLedgerLeaderElector.handleLeadershipTransfer, from the answer on.
HandleTransferResponse(n) ==
    \E m \in Mail(n) :
    LET call  == [transferee |-> m.src, term |-> m.term]
        after == IF call \in node[n].election.transfers THEN Transferred(node[n], call, m.code) ELSE node[n]
    IN  /\ node[n].role # "DOWN"
        /\ IsResponse(m, "TRANSFER")
        /\ Hear(n, m, Quietly(after))

\* ACTION TransferTimeOut: no answer came: to the leader this is one that says NETWORK_ERROR.
\* Source: DLedgerRpcNettyService.leadershipTransfer.
TransferTimeOut(n) ==
    \E call \in node[n].election.transfers :
    /\ TimeOuts /\ MayTimeOut(n, call.transferee)
    /\ Step(n, Transferred(node[n], call, "NETWORK_ERROR"))

-----------------------------------------------------------------------------
(* At the transferee: it waits, and takes over or refuses.                 *)

WaitsToTake(n, before, m) ==
    LET waiting == [leader |-> m.src, term |-> m.term, index |-> m.index]
        refusal == ElectionResponse(n, m.src, "TRANSFER", m.term, "INCONSISTENT_LEADER")
    IN  IF before.leaderId = m.src THEN Quietly([before EXCEPT !.election.waiting = waiting])
        ELSE [node |-> before, out |-> <<refusal>>]

\* ACTION WaitToTakeLeadership: a peer is asked to take over, and waits until it holds all it needs.
\* Source: DLedgerServer.handleLeadershipTransfer, at the transferee.
WaitToTakeLeadership(n) ==
    \E m \in Mail(n) :
    /\ node[n].role # "DOWN"
    /\ IsRequest(m, "TRANSFER")
    /\ node[n].election.waiting = NobodyWaits
    /\ Hear(n, m, WaitsToTake(n, node[n], m))

\* It waits no more.  With the code "NONE" it stands for election; with any other it answers the leader.
WaitOver(n, before, code) ==
    LET waiting == before.election.waiting
        over    == [before EXCEPT !.election.waiting = NobodyWaits]
        takes   == [over EXCEPT !.election.termToTakeLeadership = waiting.term + 1,
                                !.election.takesFrom = waiting.leader]
        answer  == ElectionResponse(n, waiting.leader, "TRANSFER", waiting.term, code)
    IN  IF code = "NONE" THEN ToHigherTerm(n, takes, waiting.term + 1)
        ELSE [node |-> over, out |-> <<answer>>]

\* ACTION HandleTakeLeadership: the transferee holds all it needs.  Who leads is not asked again.
\* Source: DLedgerLeaderElector.handleTakeLeadership.
HandleTakeLeadership(n) ==
    LET waiting == node[n].election.waiting
        code    == IF waiting.term = node[n].currTerm THEN "NONE" ELSE "INCONSISTENT_TERM"
    IN  /\ waiting # NobodyWaits
        /\ EndIndex(node[n].log) >= waiting.index
        /\ Act(n, WaitOver(n, node[n], code))

\* ACTION TakeLeadershipTimeOut: the transferee has been behind for too long.
\* Source: DLedgerServer.handleLeadershipTransfer, at the transferee.
TakeLeadershipTimeOut(n) ==
    LET waiting == node[n].election.waiting
    IN  /\ waiting # NobodyWaits
        /\ EndIndex(node[n].log) < waiting.index
        /\ Act(n, WaitOver(n, node[n], "TAKE_LEADERSHIP_FAILED"))

=============================================================================
