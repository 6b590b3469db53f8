------------------------------ MODULE Transfer ------------------------------
(***************************************************************************)
(* Transfer of leadership (VoteMessages).                                  *)
(***************************************************************************)
EXTENDS MessageElections

\* ACTION HandleLeadershipTransfer: the leader is told to hand over to a peer, and accepts.
\* Source: DLedgerServer.handleLeadershipTransfer and DLedgerLeaderElector's, at the leader.
HandleLeadershipTransfer(n) ==
    \E transferee \in Peers(n) :
    LET s          == node[n]
        fallBehind == EndIndex(s.log) - s.peerWaterMarks[transferee]
        call       == [transferee |-> transferee, term |-> s.currTerm]
        t          == [s EXCEPT !.election.transferee = transferee,
                                !.election.transfers = @ \cup {call}]
    IN  /\ VoteMessages
        /\ Transfers /\ MayTransfer(n)
        /\ TransferCommandCode(Member(n, s), s.currTerm, fallBehind, MaxLeadershipTransferWaitIndex)
              = "SUCCESS"
        /\ call \notin s.election.transfers
        /\ Send(n, t, TransferRequest(n, transferee, s))

\* ACTION WaitToTakeLeadership: a peer is asked to take over, and waits until it holds all it needs.
\* Source: DLedgerServer.handleLeadershipTransfer, at the transferee.
WaitToTakeLeadership(n) ==
    \E m \in Mail(n) :
    LET s       == node[n]
        refusal == ElectionResponse(n, m.src, "TRANSFER", m.term, "INCONSISTENT_LEADER")
        waits   == [leader |-> m.src, term |-> m.term, index |-> m.index]
    IN  /\ s.role # "DOWN"
        /\ IsRequest(m, "TRANSFER")
        /\ s.election.waiting = NobodyWaits
        /\ Hear(n, m, IF s.leaderId = m.src
                      THEN [node |-> [s EXCEPT !.election.waiting = waits], out |-> << >>]
                      ELSE [node |-> s, out |-> <<refusal>>])

\* What a transferee that waits does, when it waits no more: answer, or else stand for election.
WaitOver(n, code) ==
    LET waiting == node[n].election.waiting
        s       == [node[n] EXCEPT !.election.waiting = NobodyWaits]
        takes   == [s EXCEPT !.election.termToTakeLeadership = waiting.term + 1,
                             !.election.takesFrom = waiting.leader]
        answer  == ElectionResponse(n, waiting.leader, "TRANSFER", waiting.term, code)
        after   == IF code = "NONE" THEN ToHigherTerm(n, takes, waiting.term + 1)
                   ELSE [node |-> s, out |-> <<answer>>]
    IN  /\ node' = [node EXCEPT ![n] = after.node]
        /\ network' = SentAll(network, after.out)
        /\ UNCHANGED <<received, history>>

\* ACTION HandleTakeLeadership: the transferee holds all it needs.  Who leads is not asked again.
\* Source: DLedgerLeaderElector.handleTakeLeadership.
HandleTakeLeadership(n) ==
    LET waiting == node[n].election.waiting IN
    /\ waiting # NobodyWaits
    /\ EndIndex(node[n].log) >= waiting.index
    /\ WaitOver(n, IF waiting.term = node[n].currTerm THEN "NONE" ELSE "INCONSISTENT_TERM")

\* ACTION TakeLeadershipTimeOut: the transferee has been behind for too long.
\* Source: DLedgerServer.handleLeadershipTransfer, at the transferee.
TakeLeadershipTimeOut(n) ==
    LET waiting == node[n].election.waiting IN
    /\ waiting # NobodyWaits
    /\ EndIndex(node[n].log) < waiting.index
    /\ WaitOver(n, "TAKE_LEADERSHIP_FAILED")

\* The call has its answer.  Only a leader forgets its transferee here; a change of role did already.
Transferred(s, call, code) ==
    LET forgets == /\ s.role = "LEADER"
                   /\ code # "SUCCESS" \/ s.currTerm = call.term
    IN  [s EXCEPT !.election.transfers = @ \ {call},
                  !.election.transferee = IF forgets THEN NoNode ELSE @]

\* ACTION HandleTransferResponse: the old leader hears what became of its transfer; late, it is ignored.
\* Source: DLedgerLeaderElector.handleLeadershipTransfer, from the answer on.
HandleTransferResponse(n) ==
    \E m \in Mail(n) :
    LET s    == node[n]
        call == [transferee |-> m.src, term |-> m.term]
    IN  /\ s.role # "DOWN"
        /\ IsResponse(m, "TRANSFER")
        /\ Hear(n, m, [node |-> IF call \in s.election.transfers THEN Transferred(s, call, m.code) ELSE s,
                       out |-> << >>])

\* ACTION TransferTimeOut: no answer came: to the leader this is one that says NETWORK_ERROR.
\* Source: DLedgerRpcNettyService.leadershipTransfer.
TransferTimeOut(n) ==
    \E call \in node[n].election.transfers :
    /\ TimeOuts /\ MayTimeOut(n, call.transferee)
    /\ Step(n, Transferred(node[n], call, "NETWORK_ERROR"))

=============================================================================
