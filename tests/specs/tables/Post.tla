---- MODULE Post ----
\* Stations that write to one another: what a search by tables must not confuse.
EXTENDS Naturals, Sequences, FiniteSets, TLC
CONSTANTS Station, Most
VARIABLES station, mail, done

Init ==
  /\ station = [n \in Station |-> [mode |-> "idle", count |-> 0, log |-> <<>>]]
  /\ mail = [n \in Station |-> {}]
  /\ done = {}

Start(n) ==
  /\ station[n].mode = "idle"
  /\ station[n].count < Most
  /\ station' = [station EXCEPT ![n].mode = "busy", ![n].count = @ + 1]
  /\ UNCHANGED <<mail, done>>

\* The disjunction makes TLC generate some successors twice.
Send(n, p) ==
  /\ n # p
  /\ station[n].mode = "busy"
  /\ TRUE \/ station[n].count = Most
  /\ mail' = [mail EXCEPT ![p] = @ \cup {[from |-> n, count |-> station[n].count]}]
  /\ station' = [station EXCEPT ![n].mode = "idle"]
  /\ UNCHANGED done

Receive(n) ==
  \E m \in mail[n] :
    /\ Len(station[n].log) < Most
    /\ m.count > Len(station[n].log)
    /\ station' = [station EXCEPT ![n].log = Append(@, m.from)]
    /\ mail' = [mail EXCEPT ![n] = @ \ {m}]
    /\ done' = done \cup {m.from}

\* What it reads of the others is one thing or another.
Copy(n, p) ==
  /\ n # p
  /\ IF station[p].count > 0 THEN station[p].log # <<>> ELSE station[p].mode = "busy"
  /\ station[n].log # station[p].log
  /\ station' = [station EXCEPT ![n].log = station[p].log]
  /\ UNCHANGED <<mail, done>>

Next ==
  \/ \E n \in Station : Start(n) \/ Receive(n)
  \/ \E n, p \in Station : Send(n, p) \/ Copy(n, p)

\* The second conjunct has no value in a state where the first is false.
Careless(n) ==
  /\ station[n].log # <<>>
  /\ Head(station[n].log) # n
  /\ UNCHANGED <<station, mail, done>>
CarelessNext == Next \/ \E n \in Station : Careless(n)
\* Whoever asks in the other order learns of an error.
Wrong(n) == Head(station[n].log) # n /\ station[n].log # <<>> /\ UNCHANGED <<station, mail, done>>
WrongNext == Next \/ \E n \in Station : Wrong(n)

Symmetry == Permutations(Station)
Seen == [n \in Station |-> <<station[n].mode, station[n].count, Cardinality(mail[n])>>]
Few == \A n \in Station : Cardinality(mail[n]) < 2
Slow == \A n \in Station : Len(station'[n].log) <= Len(station[n].log) + 1 /\ (done # {} => done' # Station)

TypeOK == station \in [Station -> [mode : {"idle", "busy"}, count : 0..Most, log : Seq(Station)]]
Narrow == station \in [Station -> [mode : {"idle", "busy"}, count : 0..(Most - 1), log : Seq(Station)]]
\* No set of messages can be compared with {1}.
Odd == mail \in [Station -> {{}, {1}}]
NoneIsFull == \A n \in Station : Len(station[n].log) < 2
Grows == [][\A n \in Station : Len(station'[n].log) >= Len(station[n].log)]_station
CountsUp == [][\A n \in Station : station'[n].count >= station[n].count]_<<station, mail>>
Ends == <>(done # {})

\* Whether a variable stays as it was is seen without its value.
Moves == [][station' # station]_<<station, mail, done>>
Answers == [][mail' = mail \/ done' = done]_<<station, mail, done>>

\* What actions ask of all stations: a number, sets, and what has a value only where some station has a log.
Waiting == Cardinality({n \in Station : mail[n] # {}})
Full == {n \in Station : Len(station[n].log) = Most}
Later(n) == {p \in Station : station[p].count > station[n].count}
IsLast(n) == Later(n) = {} /\ Full # Station
Logs == {station[n].log : n \in Station} \ {<<>>}
First == Head(IF Logs = {} THEN <<>> ELSE CHOOSE log \in Logs : TRUE)
All == <<station, mail, done>>

\* Drop chooses from the same set as Receive does, Hold from another.
Drop(n) ==
  \E m \in mail[n] : n \in Full /\ IsLast(n) /\ mail' = [mail EXCEPT ![n] = @ \ {m}] /\ UNCHANGED <<station, done>>
Hold(n) ==
  \E p \in Later(n) : Waiting > 1 /\ done' = done \cup {p} /\ UNCHANGED <<station, mail>>
Echo(n, p) ==
  \E m \in mail[p] :
    /\ Waiting = 1 /\ n \notin Full /\ IsLast(p) /\ All # <<done>>
    /\ mail' = [mail EXCEPT ![n] = @ \cup {m}]
    /\ UNCHANGED <<station, done>>
Name(n) == Logs # {} /\ First = n /\ Waiting = 0 /\ done' = done \ {n} /\ UNCHANGED <<station, mail>>
AskingNext == Next \/ \E n \in Station : Drop(n) \/ Hold(n) \/ Name(n) \/ \E p \in Station : Echo(n, p)
WrongFirst(n) == First = n /\ Logs # {} /\ UNCHANGED <<station, mail, done>>
WrongAskingNext == AskingNext \/ \E n \in Station : WrongFirst(n)

\* Of done it asks only where several wait.
Rests == [][Waiting > 1 => done' = done]_<<station, mail, done>>
FewWait == Waiting <= Cardinality(Station)
FillsUp == [][Full' \ Full # {} => Waiting' <= Waiting]_<<station, mail>>
====
