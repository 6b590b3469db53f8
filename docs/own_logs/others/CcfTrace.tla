---------------------------- MODULE CcfTrace ----------------------------
\* Where the traces of CCF's raft driver meet its spec ccfraft.tla, as in CCF's own Traceccfraft.tla: where they begin, which
\* message a line is about, and the driver's own way to let nodes join.
EXTENDS ccfraft, Bags

\* The node of a trace's first line, and the nodes of its configuration.
CONSTANTS First, Members

\* Messages are a bag: the driver may send one twice.
OneMore(m, bag) == bag (+) SetToBag({m})
OneLess(m, bag) == bag (-) SetToBag({m})
Underway == DOMAIN messages

StartMessagesVars ==
    /\ messages = EmptyBag
    /\ commitsNotified = [i \in Servers |-> <<0, 0>>]

StartReconfigurationVars ==
    /\ reconfigurationCount = 0
    /\ removedFromConfiguration = {}
    /\ configurations = [i \in Servers |-> [k \in {0} |-> IF i = First THEN Members ELSE {}]]

\* A node receives a message.
Get(m) ==
    LET i == m.dest
        j == m.source
    IN \/ UpdateTerm(i, j, m)
       \/ m.type = RequestVoteRequest /\ HandleRequestVoteRequest(i, j, m)
       \/ m.type = RequestVoteResponse /\ HandleRequestVoteResponse(i, j, m)
       \/ m.type = RequestVoteResponse /\ DropResponseWhenNotInState(i, j, m, Candidate)
       \/ m.type = AppendEntriesRequest /\ HandleAppendEntriesRequest(i, j, m)
       \/ m.type = AppendEntriesResponse /\ HandleAppendEntriesResponse(i, j, m)
       \/ m.type = AppendEntriesResponse /\ DropResponseWhenNotInState(i, j, m, Leader)

\* Receiving a message is one step or several: the last takes it away.
Keep(m) == Get(m) /\ UNCHANGED messages
Take(m) == Get(m) /\ messages' # messages

\* A node gets the list of nodes from the driver, or learns it from others.
Follow(i) ==
    /\ state[i] = Pending
    /\ state' = [state EXCEPT ![i] = Follower]
    /\ UNCHANGED <<reconfigurationCount, removedFromConfiguration, messageVars, currentTerm, votedFor, candidateVars,
                   leaderVars, logVars>>
Join(i, nodes) == Follow(i) /\ configurations' = [configurations EXCEPT ![i] = [k \in {0} |-> nodes]]
Awake(i) == Follow(i) /\ UNCHANGED configurations

TraceNext ==
    \/ \E i \in Servers : Timeout(i)
    \/ \E i, j \in Servers : RequestVote(i, j)
    \/ \E i \in Servers : BecomeLeader(i)
    \/ \E i \in Servers : ClientRequest(i)
    \/ \E i \in Servers : SignCommittableMessages(i)
    \/ \E i \in Servers, nodes \in SUBSET Servers : ChangeConfigurationInt(i, nodes)
    \/ \E i \in Servers : AdvanceCommitIndex(i)
    \/ \E i, j \in Servers : AppendEntries(i, j)
    \/ \E i \in Servers : CheckQuorum(i)
    \/ \E m \in Messages : Keep(m)
    \/ \E m \in Messages : Take(m)
    \/ \E i \in Servers, nodes \in SUBSET Servers : Join(i, nodes)
    \/ \E i \in Servers : Awake(i)

\* SelectInSubSeq(seq, from, to, Test) as TLC has it from Java: an index of seq. Its TLA+ counts from `from`.
FirstIn(seq, from, to, Test(_)) ==
    LET found == {k \in from..to : Test(seq[k])}
    IN IF found = {} THEN 0 ELSE Min(found)

\* With no entry a message is a heartbeat.
AnyBatch(i, j) == (nextIndex[i][j] - 1)..Len(log[i])

Observe(i) ==
    [term |-> currentTerm[i], role |-> state[i], commit |-> commitIndex[i], log |-> log[i], messages |-> messages]
==========================================================================
