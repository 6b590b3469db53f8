---- MODULE MCDeposed ----
EXTENDS MCDLedger
CONSTANTS a, b, c, d, e
En(t) == [term |-> t, value |-> CHOOSE x \in Value : TRUE]
LogOf(n) == CASE n = a -> <<En(1), En(1), En(3)>>
              [] n = c -> <<En(1), En(1), En(2)>>
              [] n = b -> <<En(4), En(4)>>
              [] OTHER -> << >>
TermOf(n) == IF n \in {a, c, d} THEN 5 ELSE 4
Start(n) == [InitNode(n) EXCEPT !.currTerm = TermOf(n), !.role = IF n = a THEN "LEADER" ELSE "FOLLOWER",
              !.leaderId = IF n \in {a,c,d} THEN a ELSE b, !.currVoteFor = IF n \in {a,c,d} THEN a ELSE b,
              !.log = LogOf(n), !.disk = LogOf(n), !.ledgerEndTerm = EndTerm(LogOf(n))]
DInit ==
  /\ node = [n \in Node |-> Start(n)]
  /\ network = [n \in Node |-> [p \in Peers(n) |-> EmptyChannel]]
  /\ received = [n \in Node |-> EmptyQueues]
  /\ acknowledged = {} /\ committed = {} /\ elected = {}
DMayElect(n) == n = b /\ node[n].currTerm < MaxTerm
DMaySend(n, p) == ((n = a /\ p = c) \/ (n = b /\ p = a)) /\ MCMaySend(n, p)
====
