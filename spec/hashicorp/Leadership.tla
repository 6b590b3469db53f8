----------------------------- MODULE Leadership -----------------------------
(***************************************************************************)
(* What a client may ask of a leader besides storing entries: to hand      *)
(* over, and to say whether it still leads.  The reader learns how a       *)
(* leader passes the vote round pre-votes and known leaders, and what an   *)
(* answer to a heartbeat proves.                                           *)
(***************************************************************************)
EXTENDS Messages, Steps

-----------------------------------------------------------------------------
(* Handing over.  The leader stops taking entries, brings its target up to *)
(* date, and tells it to campaign at once.  If nothing comes of it in      *)
(* time, it goes on.  The flag that keeps entries out is cleared by a      *)
(* routine of its own, which may be held up (TransferFlagLeft).            *)

\* ACTION LeadershipTransfer: a leader is told to hand over to a peer, or to the voter that is furthest.
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

\* ACTION SendTimeoutNow: the target has all entries, and is told to campaign.
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

\* ACTION HandleTimeoutNowResponse: the target campaigns; the leader waits for what comes of it.
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
(* Asking whether it leads.  VerifyLeader asks all peers at once, by a     *)
(* heartbeat.  If a quorum, the leader counted, says that the term is      *)
(* still theirs, no newer leader had been elected when the client asked:   *)
(* a quorum would have been in its term.  That holds if who answers has a  *)
(* vote, and was asked after the client asked.                             *)

\* A leader of a higher term has been elected.
Superseded(term) == \E e \in elected : e.term > term

\* Who counts.
Answers(n, state) ==
    LET peers == {p \in Peers(n) : state.replication[p].running}
    IN  IF CountsNonvoters THEN peers ELSE peers \cap state.configurations.latest.voters

VerifyBegins(n, before, superseded) ==
    [before EXCEPT !.verify = [active |-> TRUE, acks |-> {}, waiting |-> Answers(n, before),
                               refused |-> FALSE, superseded |-> superseded,
                               quorum |-> Cardinality(before.configurations.latest.voters) \div 2 + 1],
                   !.replication = [p \in Node |->
                       [@[p] EXCEPT !.old = before.replication[p].beating,
                                    !.oldCall = before.replication[p].awaiting # "NOTHING"]]]

\* ACTION VerifyLeader: a client asks whether the server still leads.
\* Source: verifyLeader.
VerifyLeader(n) ==
    /\ Verify /\ MayVerify(n)
    /\ Selects(n)
    /\ node[n].role = "Leader"
    /\ ~node[n].verify.active
    /\ Step(n, VerifyBegins(n, node[n], Superseded(node[n].currentTerm)))

\* ACTION HandleVerify: a quorum says that it leads, and the client is told; a peer says no, and it follows.
\* Source: leaderLoop, verifyCh.
HandleVerify(n) ==
    LET verify == node[n].verify
        told   == [term |-> node[n].currentTerm, leader |-> n, superseded |-> verify.superseded]
    IN  /\ Selects(n)
        /\ node[n].role = "Leader"
        /\ verify.active
        /\ IsDecided(verify)
        /\ Update(n, network, Quietly(IF IsVerified(verify) THEN [node[n] EXCEPT !.verify = NoVerify]
                                      ELSE Follower(node[n])))
        /\ verified' = IF IsVerified(verify) THEN verified \cup {told} ELSE verified
        /\ UNCHANGED committed

=============================================================================
