------------------------------ MODULE TwoPhase ------------------------------
(***************************************************************************)
(* Two-phase commit of several transactions by one transaction manager and *)
(* some resource managers. A message is not written down: it is under way  *)
(* from the step that sends it on, and Hear and Receive take it in.        *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS RM,   \* the resource managers
          Last  \* the number of the last transaction

VARIABLES work,     \* of each resource manager and transaction: how far it is
          heard,    \* of each transaction: who the transaction manager knows to be prepared
          decided,  \* of each transaction: what was decided
          received  \* of each resource manager: the transactions of which the decision has arrived

vars == <<work, heard, decided, received>>

Tx == 1..Last

Init == /\ work = [r \in RM |-> [t \in Tx |-> "working"]]
        /\ heard = [t \in Tx |-> {}]
        /\ decided = [t \in Tx |-> "open"]
        /\ received = [r \in RM |-> {}]

Prepare(r, t) == /\ work[r][t] = "working"
                 /\ work' = [work EXCEPT ![r][t] = "prepared"]
                 /\ UNCHANGED <<heard, decided, received>>

Hear(r, t) == /\ decided[t] = "open" /\ work[r][t] = "prepared" /\ r \notin heard[t]
              /\ heard' = [heard EXCEPT ![t] = @ \union {r}]
              /\ UNCHANGED <<work, decided, received>>

Decide(t, outcome) == /\ decided[t] = "open"
                      /\ outcome = "commit" => heard[t] = RM
                      /\ decided' = [decided EXCEPT ![t] = outcome]
                      /\ heard' = [heard EXCEPT ![t] = {}]  \* needed no more
                      /\ UNCHANGED <<work, received>>

Receive(r, t) == /\ decided[t] # "open" /\ t \notin received[r]
                 /\ received' = [received EXCEPT ![r] = @ \union {t}]
                 /\ UNCHANGED <<work, heard, decided>>

Finish(r, t) == /\ t \in received[r] /\ work[r][t] \in {"working", "prepared"}
                /\ work' = [work EXCEPT ![r][t] = IF decided[t] = "commit" THEN "committed" ELSE "aborted"]
                /\ UNCHANGED <<heard, decided, received>>

Next == \/ \E r \in RM, t \in Tx : Prepare(r, t) \/ Hear(r, t) \/ Receive(r, t) \/ Finish(r, t)
        \/ \E t \in Tx, outcome \in {"commit", "abort"} : Decide(t, outcome)

Spec == Init /\ [][Next]_vars

\* What a log may show: how many transactions a resource manager is prepared for, and has finished; the decisions.
Observe == [prepared |-> [r \in RM |-> Cardinality({t \in Tx : work[r][t] = "prepared"})],
            finished |-> [r \in RM |-> Cardinality({t \in Tx : work[r][t] \in {"committed", "aborted"}})],
            decided |-> decided]

\* INV Agreement: of one transaction, nobody commits what another aborts.
Agreement == \A t \in Tx : \A r, s \in RM : ~(work[r][t] = "committed" /\ work[s][t] = "aborted")

\* INV CommittedByAll: what is decided to be committed, all are prepared for.
CommittedByAll == \A t \in Tx : decided[t] = "commit" => \A r \in RM : work[r][t] \in {"prepared", "committed"}

\* PROP DecisionStaysProp: nothing that is decided is decided anew.
DecisionStaysProp == [][\A t \in Tx : decided[t] # "open" => decided'[t] = decided[t]]_vars
=============================================================================
