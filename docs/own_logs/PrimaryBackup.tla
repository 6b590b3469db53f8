---------------------------- MODULE PrimaryBackup ----------------------------
(***************************************************************************)
(* A primary writes entries 1, 2, 3, ...; each backup stores them in their *)
(* order and acknowledges; the primary commits what all backups have       *)
(* acknowledged.                                                           *)
(***************************************************************************)
EXTENDS Naturals

CONSTANTS Primary, Backup

VARIABLES written,   \* how many entries the primary has
          stored,    \* of each backup: how many entries it has
          acked,     \* of each backup: how many the primary knows that it has
          committed  \* how many entries are committed

vars == <<written, stored, acked, committed>>

Init == /\ written = 0
        /\ stored = [b \in Backup |-> 0]
        /\ acked = [b \in Backup |-> 0]
        /\ committed = 0

Put == written' = written + 1 /\ UNCHANGED <<stored, acked, committed>>

Store(b) == /\ stored[b] < written
            /\ stored' = [stored EXCEPT ![b] = @ + 1]
            /\ UNCHANGED <<written, acked, committed>>

\* An acknowledgement arrives; those before it may have been lost.
Acknowledge(b, n) == /\ acked[b] < n /\ n <= stored[b]
                     /\ acked' = [acked EXCEPT ![b] = n]
                     /\ UNCHANGED <<written, stored, committed>>

Commit(n) == /\ committed < n /\ n <= written
             /\ \A b \in Backup : n <= acked[b]
             /\ committed' = n
             /\ UNCHANGED <<written, stored, acked>>

Next == \/ Put
        \/ \E b \in Backup : Store(b) \/ \E n \in 1..written : Acknowledge(b, n)
        \/ \E n \in 1..written : Commit(n)

Spec == Init /\ [][Next]_vars

Observe(node) == IF node = Primary THEN [entries |-> written, committed |-> committed]
                                   ELSE [entries |-> stored[node]]

\* Where a log may begin that does not begin with the system; each bound is of what stands above it.
Middle == /\ written \in 0..4
          /\ stored \in [Backup -> 0..written]
          /\ acked \in [Backup -> 0..written] /\ \A b \in Backup : acked[b] <= stored[b]
          /\ committed \in {n \in 0..written : \A b \in Backup : n <= acked[b]}

\* INV CommittedIsStored: what is committed is on every backup.
CommittedIsStored == \A b \in Backup : committed <= stored[b]

\* PROP NeverBackProp: nothing that is committed, or stored, is taken back.
NeverBackProp == [][committed' >= committed /\ \A b \in Backup : stored'[b] >= stored[b]]_vars

\* What a step reaches, for `lockstep check --reached` (docs/measured/coverage.md).
Reachable == {<<"store", "the last entry">>, <<"store", "an earlier entry">>, <<"acknowledge", "several entries">>,
              <<"commit", "one entry">>, <<"commit", "several entries">>}

Reached(action, args) ==
    CASE action = "Store" ->
             {<<"store", IF stored'[args.b] = written THEN "the last entry" ELSE "an earlier entry">>}
      [] action = "Acknowledge" ->
             IF args.n > acked[args.b] + 1 THEN {<<"acknowledge", "several entries">>} ELSE {}
      [] action = "Commit" ->
             {<<"commit", IF committed' > committed + 1 THEN "several entries" ELSE "one entry">>}
      [] OTHER -> {}
=============================================================================
