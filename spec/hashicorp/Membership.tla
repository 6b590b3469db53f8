----------------------------- MODULE Membership -----------------------------
(***************************************************************************)
(* Changes of the configuration.  The reader learns why one change at a    *)
(* time is enough, and when each configuration counts.                     *)
(* A configuration is an entry of the log.  It counts as soon as a server  *)
(* stores it: for its elections, its commits and its replication.  A       *)
(* change adds, removes, or changes the vote of one server, so that a      *)
(* majority before it and one after it have a voter in common.  A leader   *)
(* makes the next change when the last one is committed, and with it an    *)
(* entry of its own term: else a change of an earlier leader, which it     *)
(* does not know, could be committed behind its back.                      *)
(***************************************************************************)
EXTENDS Leader

Commands == {"AddVoter", "AddNonvoter", "DemoteVoter", "RemoveServer"}

\* nextConfiguration.  A voter that is to be added as a non-voter stays what it is.
NextConfiguration(c, command, server) ==
    CASE command = "AddVoter"     -> [voters |-> c.voters \cup {server}, nonvoters |-> c.nonvoters \ {server}]
      [] command = "RemoveServer" -> [voters |-> c.voters \ {server}, nonvoters |-> c.nonvoters \ {server}]
      [] command = "AddNonvoter"  ->
            IF server \in c.voters THEN c ELSE [c EXCEPT !.nonvoters = @ \cup {server}]
      [] command = "DemoteVoter"  ->
            IF server \notin c.voters THEN c
            ELSE [voters |-> c.voters \ {server}, nonvoters |-> c.nonvoters \cup {server}]

\* setConfiguration: the matchIndexes of servers without a vote are forgotten.
WithVoters(before) ==
    Recalculated([before EXCEPT !.leaderState.matchIndexes =
                     [p \in Node |-> IF IsVoter(before, p) THEN @[p] ELSE 0]])

\* startStopReplication: routines for new peers; those for removed peers may send once more.
WithRoutines(n, before) ==
    LET peers == Members(before.configurations.latest) \ {n}
        gone  == {p \in Node \ peers : before.replication[p].running}
        left  == UNION {LeftOf(before, p) : p \in gone}
    IN  [before EXCEPT !.zombies = IF Zombies THEN @ \cup left ELSE {},
                       !.replication = [p \in Node |->
                           IF p \notin peers THEN InitRunner
                           ELSE IF before.replication[p].running \/ before.replication[p].term # 0
                           THEN before.replication[p]
                           ELSE Starts(before, before.currentTerm)]]

\* appendConfigurationEntry.  It sets the configuration even if the entry could not be stored.
Reconfigured(n, before, configuration) ==
    LET index   == LastIndex(before) + 1
        entry   == [term |-> before.currentTerm, type |-> "Configuration", value |-> NoNode,
                    configuration |-> configuration]
        handled == Dispatched(n, before, <<entry>>)
        Set(s)  == WithRoutines(n, WithVoters(SetLatest(s, configuration, index)))
    IN  [handled EXCEPT !.node = Set(@),
                        !.writes[1].fails.node = SetLatest(@, configuration, index)]

\* configurationChangeChIfStable.
IsStable(state) ==
    /\ state.configurations.latestIndex = state.configurations.committedIndex
    /\ state.commitIndex >= state.leaderState.startIndex

\* ACTION AppendConfigurationEntry: a leader adds, removes, promotes or demotes a server.
\* Source: leaderLoop, appendConfigurationEntry, nextConfiguration.
AppendConfigurationEntry(n) ==
    \E command \in Commands : \E server \in Node : \E outcome \in AnyOutcome :
    LET next    == NextConfiguration(node[n].configurations.latest, command, server)
        handled == Reconfigured(n, node[n], next)
        gone    == (Members(node[n].configurations.latest) \ Members(next)) \ {n}
        Gone(m) == m.type \in OfLeaders /\ (m.dst \in gone \/ m.src \in gone)
    IN  /\ ConfigurationChanges /\ MayReconfigure(n)
        /\ Selects(n)
        /\ node[n].role = "Leader"
        /\ IsStable(node[n]) /\ ~node[n].transfer.inProgress
        /\ next.voters # {}
        /\ outcome \in Outcomes(n, handled)
        /\ Update(n, IF gone = {} THEN network ELSE AllAbandoned(network, n, Gone), Outcome(handled, outcome))
        /\ UNCHANGED <<committed, verified>>

=============================================================================
