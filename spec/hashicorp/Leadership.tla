----------------------------- MODULE Leadership -----------------------------
(***************************************************************************)
(* Transfer of leadership, and VerifyLeader: a client commands a leader to *)
(* hand over, or asks whether it still leads.  The reader learns how a     *)
(* leader passes the vote round pre-votes and known leaders, and what an   *)
(* answer to a heartbeat proves.                                           *)
(***************************************************************************)
EXTENDS Messages, Steps

-----------------------------------------------------------------------------
(* Handing over.  The leader stops taking entries, brings its target up to *)
(* date, and commands it to campaign at once.  If the target does not win  *)
(* in time, the leader goes on.  The flag that keeps entries out is        *)
(* cleared by a routine of its own, which may be held up                   *)
(* (TransferFlagLeft).                                                     *)

\* ACTION LeadershipTransfer: a leader is commanded to hand over to a peer, or to the voter that is furthest.
\* Source: leaderLoop, leadershipTransferCh; pickServer.
LeadershipTransfer(n) ==
    \E peer \in Peers(n) :
    /\ Transfers /\ MayTransfer(n)
    /\ Selects(n)
    /\ node[n].role = "Leader"
    /\ ~node[n].transfer.inProgress
    /\ peer \in Members(node[n].configurations.latest)
    /\ Step(n, [node[n] EXCEPT !.transfer = [inProgress |-> TRUE, to |-> peer, term |-> node[n].currentTerm,
                                             asked |-> FALSE]])

\* ACTION SendTimeoutNow: the target has all entries, and is commanded to campaign.
\* Source: leadershipTransfer.
SendTimeoutNow(n) ==
    LET transfer == node[n].transfer
        peer     == transfer.to
    IN  /\ Runs(n)
        /\ node[n].role = "Leader"
        /\ transfer.inProgress /\ ~transfer.asked /\ transfer.term = node[n].currentTerm
        /\ RunnerFor(n, peer).nextIndex > LastIndex(node[n])
        /\ MaySend(n, peer)
        /\ Act(n, Says([node[n] EXCEPT !.transfer.asked = TRUE], {TimeoutNowRequest(n, peer)}))

\* ACTION HandleTimeoutNowResponse: the target campaigns; the leader waits for the outcome.
\* Source: leadershipTransfer, doneCh.
HandleTimeoutNowResponse(n) ==
    \E m \in Inbox(n) :
    /\ IsResponse(m, "TimeoutNow")
    /\ Runs(n)
    /\ TakeAnswer(n, m, Quietly(node[n]))

\* ACTION EndTransfer: time is up, or the leadership is over: the flag is cleared.
\* Source: leaderLoop, the routine beside leadershipTransfer.
EndTransfer(n) ==
    /\ Runs(n)
    /\ node[n].transfer.inProgress
    /\ LET Gone(m) == m.type = "TimeoutNow"
       IN  /\ Update(n, AllAbandoned(network, n, Gone), Quietly([node[n] EXCEPT !.transfer = NoTransfer]))
           /\ UNCHANGED <<committed, verified>>

-----------------------------------------------------------------------------
(* Verifying a leadership.  VerifyLeader asks all peers at once, by a      *)
(* heartbeat.  If a quorum, the leader counted, is still in the leader's   *)
(* term, no newer leader had been elected when the client asked: a quorum  *)
(* would have been in that leader's term.  This holds if the peers that    *)
(* answer have a vote, and were asked after the client asked.              *)

\* A leader of a higher term has been elected.
Superseded(term) == \E e \in elected : e.term > term

\* The peers whose answers count.
Answers(n, state) ==
    LET peers == {p \in Peers(n) : state.replication[p].running}
    IN  IF CountsNonvoters THEN peers ELSE peers \cap state.configurations.latest.voters

\* The calls of a pipeline were made before the question.
Older(calls) == [k \in DOMAIN calls |-> [calls[k] EXCEPT !.old = TRUE]]

VerifyBegins(n, before, superseded) ==
    [before EXCEPT !.verify = [active |-> TRUE, acks |-> {}, waiting |-> Answers(n, before),
                               refused |-> FALSE, superseded |-> superseded,
                               quorum |-> Cardinality(before.configurations.latest.voters) \div 2 + 1],
                   !.replication = [p \in Node |->
                       [before.replication[p] EXCEPT !.old = before.replication[p].beating,
                                                     !.oldCall = before.replication[p].awaiting # "NOTHING",
                                                     !.inFlight = Older(@)]]]

\* ACTION VerifyLeader: a client asks whether the server still leads.
\* Source: verifyLeader.
VerifyLeader(n) ==
    /\ Verify /\ MayVerify(n)
    /\ Selects(n)
    /\ node[n].role = "Leader"
    /\ ~node[n].verify.active
    /\ Step(n, VerifyBegins(n, node[n], Superseded(node[n].currentTerm)))

\* ACTION HandleVerify: a quorum confirms the leader, and its client is answered; or a peer denies it, and it
\* follows.
\* Source: leaderLoop, verifyCh.
HandleVerify(n) ==
    LET verify    == node[n].verify
        confirmed == [term |-> node[n].currentTerm, leader |-> n, superseded |-> verify.superseded]
    IN  /\ Selects(n)
        /\ node[n].role = "Leader"
        /\ verify.active
        /\ IsDecided(verify)
        /\ Update(n, network, Quietly(IF IsVerified(verify) THEN [node[n] EXCEPT !.verify = NoVerify]
                                      ELSE Follower(node[n])))
        /\ verified' = IF IsVerified(verify) THEN verified \cup {confirmed} ELSE verified
        /\ UNCHANGED committed

=============================================================================
