----------------------------- MODULE PaxosVoting -----------------------------
(* The voting beneath Paxos, without its messages: acceptors promise not to   *)
(* vote in lower ballots, and vote only for what no lower ballot can           *)
(* contradict. It refines Consensus.                                          *)
EXTENDS Integers, FiniteSets

CONSTANTS Acceptor, Quorum, Value, Ballot

ASSUME QuorumsMeet == \A Q, R \in Quorum : Q \cap R # {}

VARIABLES promised, votes

vars == <<promised, votes>>

None == -1

Init == /\ promised = [a \in Acceptor |-> None]
        /\ votes = [a \in Acceptor |-> {}]

Voted(a, b, v)  == <<b, v>> \in votes[a]
VotedIn(a, b)   == \E v \in Value : Voted(a, b, v)
ChosenAt(b, v)  == \E Q \in Quorum : \A a \in Q : Voted(a, b, v)
NeverWill(a, b) == promised[a] > b /\ ~VotedIn(a, b)

\* No value but v is chosen below b, or can still be.
SafeAt(b, v) ==
    \A c \in {d \in Ballot : d < b} :
      \E Q \in Quorum : \A a \in Q : Voted(a, c, v) \/ NeverWill(a, c)

\* The same, as the acceptors of one quorum can see it from their highest votes.
ShowsSafe(Q, b, v) ==
    /\ \A a \in Q : promised[a] >= b
    /\ LET cast    == UNION {votes[a] : a \in Q}
           below   == {pair \in cast : pair[1] < b}
           highest == CHOOSE c \in {pair[1] : pair \in below} : \A pair \in below : pair[1] <= c
       IN  IF below = {} THEN TRUE ELSE <<highest, v>> \in below

Promise(a, b) ==
    /\ b > promised[a]
    /\ promised' = [promised EXCEPT ![a] = b]
    /\ UNCHANGED votes

Vote(a, b, v) ==
    /\ promised[a] <= b
    /\ ~VotedIn(a, b)
    /\ \A other \in Acceptor \ {a} : \A pair \in votes[other] : pair[1] = b => pair[2] = v
    /\ \E Q \in Quorum : ShowsSafe(Q, b, v)
    /\ promised' = [promised EXCEPT ![a] = b]
    /\ votes' = [votes EXCEPT ![a] = @ \cup {<<b, v>>}]

Next == \E a \in Acceptor, b \in Ballot : Promise(a, b) \/ \E v \in Value : Vote(a, b, v)

Spec == Init /\ [][Next]_vars

TypeOK == /\ promised \in [Acceptor -> Ballot \cup {None}]
          /\ votes \in [Acceptor -> SUBSET (Ballot \X Value)]

VotesAreSafe == \A a \in Acceptor : \A <<b, v>> \in votes[a] : SafeAt(b, v)
OneVote      == \A a \in Acceptor : \A x, y \in votes[a] : x[1] = y[1] => x = y

chosen == {v \in Value : \E b \in Ballot : ChosenAt(b, v)}
Agreed == INSTANCE Consensus
Refines    == Agreed!Spec
Consistent == Agreed!AtMostOne

Majorities == {Q \in SUBSET Acceptor : 2 * Cardinality(Q) > Cardinality(Acceptor)}

\* What goes wrong if nobody looks at the votes that are there.
Trusting(Q, b, v) == \A a \in Q : promised[a] >= b
==============================================================================
