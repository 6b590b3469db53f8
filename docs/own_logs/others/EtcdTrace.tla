---------------------------- MODULE EtcdTrace ----------------------------
\* Where the traces of etcd's raft library meet its spec etcdraft.tla: where they begin, and what a line shows.
EXTENDS etcdraft

\* The members are there from the beginning: each has applied the entries that name them all. Nobody else has anything.
Bootstrapped(i) == i \in InitServer

StartServerVars ==
    /\ currentTerm = [i \in Server |-> IF Bootstrapped(i) THEN 1 ELSE 0]
    /\ state = [i \in Server |-> Follower]
    /\ votedFor = [i \in Server |-> Nil]

StartLogVars ==
    LET Named == [term |-> 1, type |-> ConfigEntry, value |-> [newconf |-> InitServer, learners |-> {}]]
        Size(i) == IF Bootstrapped(i) THEN Cardinality(InitServer) ELSE 0
    IN /\ log = [i \in Server |-> [k \in 1..Size(i) |-> Named]]
       /\ commitIndex = [i \in Server |-> Size(i)]

StartConfigVars ==
    /\ config = [i \in Server |->
                   [jointConfig |-> <<IF Bootstrapped(i) THEN InitServer ELSE {}, {}>>, learners |-> {}]]
    /\ reconfigCount = 0

\* PendingMessages(i) of etcdraft, without the CHOOSE of a fold: which message comes first stays open.
Sent(i) == [m \in {each \in DOMAIN pendingMessages : each.msource = i} |-> pendingMessages[m]]

\* Receiving a message is one step or several: the last takes it away, those before it change the term or the log.
Keep(m) == Receive(m) /\ UNCHANGED messages
Take(m) == Receive(m) /\ messages' # messages

\* NextDynamic of etcdraft, with Receive in these two parts, and without a network that loses messages or doubles them.
TraceNext ==
    \/ \E i, j \in Server : RequestVote(i, j)
    \/ \E i \in Server : BecomeLeader(i)
    \/ \E i \in Server : ClientRequest(i, 0)
    \/ \E i \in Server : AdvanceCommitIndex(i)
    \/ \E i, j \in Server : \E b, e \in matchIndex[i][j] + 1..Len(log[i]) + 1 : AppendEntries(i, j, <<b, e>>)
    \/ \E i \in Server : AppendEntriesToSelf(i)
    \/ \E i, j \in Server : Heartbeat(i, j)
    \/ \E i, j \in Server : \E index \in 1..commitIndex[i] : SendSnapshot(i, j, index)
    \/ \E m \in DOMAIN messages : Keep(m)
    \/ \E m \in DOMAIN messages : Take(m)
    \/ \E i \in Server : Timeout(i)
    \/ \E i \in Server : Ready(i)
    \/ \E i \in Server : StepDownToFollower(i)
    \/ \E i \in Server : Restart(i)
    \/ \E i, j \in Server : AddNewServer(i, j)
    \/ \E i, j \in Server : AddLearner(i, j)
    \/ \E i, j \in Server : DeleteServer(i, j)
    \/ \E i \in Server : ApplySimpleConfChange(i)

Observe(i) ==
    [state |-> [term |-> currentTerm[i], vote |-> votedFor[i], commit |-> commitIndex[i]],
     role |-> state[i],
     log |-> log[i],
     voters |-> GetConfig(i),
     outgoing |-> GetOutgoingConfig(i),
     pending |-> pendingMessages]
===========================================================================
