----------------------------- MODULE MCHighTerm ------------------------------
(***************************************************************************)
(* A node that is left in a term of its own (HighTermLaggard of            *)
(* MCLiveness), with DLedger's own repairs.  The reader learns which of    *)
(* them bring it back although its answers to heartbeats come too late.    *)
(***************************************************************************)
EXTENDS MCLiveness, MCElectionRepairs

\* Where a node is to be heard that asks again and again, it must find room for its requests, which is the
\* model's: the others may not take it each time.
FindsRoom == \A n \in Node : SF_vars(GoesOn(n))

AskingSpec == HighTermInit /\ [][Next]_vars /\ HighTermFairness /\ FindsRoom

\* As #332 has it, the deposed leader follows nobody.  So time takes a role here, but from no node that has a
\* leader, and from no leader.
OrphansTimeOut ==
    /\ RoundsHaveAQuorum
    /\ \A n \in Node : node'[n].role = "CANDIDATE" =>
          /\ node[n].role = "FOLLOWER" /\ Idle(n) => node[n].leaderId = NoNode
          /\ node[n].role = "LEADER" => node[n].election.round.maxTerm > node[n].election.round.term

TimesOut(n) == HeartBeatTimeOut(n) /\ node[n].leaderId = NoNode

EagerSpec == AskingSpec /\ \A n \in Node : WF_vars(TimesOut(n))

=============================================================================
