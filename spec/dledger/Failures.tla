------------------------------ MODULE Failures ------------------------------
(***************************************************************************)
(* Loss, copies, crashes, loss of power, and recovery.                     *)
(***************************************************************************)
EXTENDS Store, Transfer

\* ACTION PersistCheckPoint: committedIndex goes to the checkpoint file.
\* Source: DLedgerMmapFileStore.persistCheckPoint.
PersistCheckPoint(n) ==
    /\ CheckPoints /\ MayCheckPoint(n)
    /\ node[n].role # "DOWN"
    /\ Step(n, [node[n] EXCEPT !.checkPoint = node[n].committedIndex])

\* ACTION FlushDataService: the data file is forced to the disk.
\* Source: DLedgerMmapFileStore.FlushDataService.doWork.
FlushDataService(n) ==
    /\ MayFlush(n)
    /\ node[n].role # "DOWN"
    /\ Step(n, Forced(node[n]))

\* What a process leaves behind: its files.  committedIndex keeps its last value while the node is
\* down: it is what it told others.
Down(n, s) ==
    [InitNode(n) EXCEPT !.role = "DOWN", !.currTerm = s.currTerm, !.currVoteFor = s.currVoteFor,
                        !.log = s.log, !.tail = s.tail, !.disk = s.disk,
                        !.ledgerEndTerm = s.ledgerEndTerm, !.checkPoint = s.checkPoint,
                        !.committedIndex = s.committedIndex]

\* The process of n ends and leaves the files of s; no one at n waits for an answer any more.
Dies(n, s) ==
    LET All(m)       == TRUE
        Silent(p, q) == IF p = n THEN NotAwaited(network[p][q], All)
                        ELSE IF q = n THEN WithoutAnswers(network[p][q], All)
                        ELSE network[p][q]
    IN  /\ node[n].role # "DOWN"
        /\ node' = [node EXCEPT ![n] = Down(n, s)]
        /\ network' = [p \in Node |-> [q \in Peers(p) |-> Silent(p, q)]]
        /\ received' = [p \in Node |-> IF p = n THEN EmptyQueues
                                       ELSE AbandonQueued(received, n, p, All)[p]]
        /\ UNCHANGED history

\* ACTION Crash: the process dies, what it wrote survives (kill -9).
Crash(n) ==
    /\ Crashes /\ MayDie(n)
    /\ Dies(n, node[n])

\* ACTION Shutdown: the process is stopped in good order: the file is forced, the checkpoint written.
\* Source: DLedgerMmapFileStore.shutdown.
Shutdown(n) ==
    /\ Shutdowns /\ MayDie(n)
    /\ Dies(n, [Forced(node[n]) EXCEPT !.checkPoint = node[n].committedIndex])

\* ACTION LosePower: the machine dies.  Of what was written and not forced the first entries may
\* have reached the disk; from `kept` on the file is as it was last forced.
LosePower(n) ==
    \E kept \in 0..Len(node[n].log) + Len(node[n].tail) :
    LET s    == node[n]
        file == s.log \o s.tail
        left == SubSeq(file, 1, kept) \o SubSeq(s.disk, kept + 1, Len(s.disk))
        end  == Min({Len(s.log), Len(left)})
    IN  /\ PowerLoss /\ MayDie(n)
        /\ Dies(n, [s EXCEPT !.log = SubSeq(left, 1, end), !.tail = SubSeq(left, end + 1, Len(left)),
                             !.disk = left, !.committedIndex = Min({@, end - 1})])

\* ACTION CrashInPersistTerm: the process dies while it writes its term and its vote: the old file is
\* removed, and the new one has not got its name yet.  D8.  Repaired: the new file replaces the old one.
\* Source: MemberState.persistTerm, called by nextTerm and setCurrVoteFor; IOUtils.string2File.
CrashInPersistTerm(n) ==
    /\ RemovesFileFirst
    /\ StepwiseElections
    /\ Crashes /\ MayDie(n)
    /\ \/ node[n].role = "CANDIDATE"
       \/ ~VoteMessages /\ \E candidate \in Node : Accepts(n, candidate)
       \/ \E m \in Mail(n) : IsRequest(m, "VOTE") /\ VoteHandled(n, node[n], m, FALSE).code = "ACCEPT"
    /\ Dies(n, [node[n] EXCEPT !.currTerm = 0, !.currVoteFor = NoNode])

\* ACTION CrashInPersistCheckPoint: the process dies while it writes its checkpoint, a file like the other.
\* Source: DLedgerMmapFileStore.persistCheckPoint; IOUtils.string2File.
CrashInPersistCheckPoint(n) ==
    /\ RemovesFileFirst
    /\ Crashes /\ MayDie(n)
    /\ CheckPoints /\ MayCheckPoint(n)
    /\ Dies(n, [node[n] EXCEPT !.checkPoint = -1])

\* How many entries the scan of the data file finds: it stops where it can read none, or one of a
\* lower term than the entry before; it goes on behind the end of the log.
Scanned(s) ==
    LET file == s.log \o s.tail
        Stops == {k \in 1..Len(file) :
                    \/ file[k] = Hole
                    \/ k > 1 /\ file[k].term < file[k - 1].term}
    IN  IF Stops = {} THEN Len(file) ELSE Min(Stops) - 1

\* ACTION Restart: recovery scans the file, takes `resurrected` entries of the tail for entries of the
\* log, and replays the checkpoint through updateCommittedIndex.
\* Source: DLedgerMmapFileStore.recover.
Restart(n) ==
    \E resurrected \in 0..Max({0, Scanned(node[n]) - Len(node[n].log)}) :
    LET s    == node[n]
        file == s.log \o s.tail
        end  == Min({Len(s.log), Scanned(s)}) + resurrected
        log  == SubSeq(file, 1, end)
        t    == [s EXCEPT !.role = "CANDIDATE", !.committedIndex = -1, !.log = log,
                          !.tail = Behind(SubSeq(file, end + 1, Len(file))),
                          !.ledgerEndTerm = EndTerm(log)]
    IN  /\ s.role = "DOWN"
        /\ Step(n, UpdateCommittedIndex(Written(t), s.currTerm, s.checkPoint))

\* ACTION Lose: a message to n is lost, or cleared from its queues.
Lose(n) ==
    \E m \in Inbox(n) :
    /\ Loss /\ MayLose(n, m)
    /\ network' = Received(network, m)
    /\ UNCHANGED <<node, received, history>>

\* ACTION Duplicate: a message to n will be delivered twice.
Duplicate(n) ==
    \E m \in Inbox(n) :
    /\ Duplication /\ MayDuplicate(n)
    /\ network' = [network EXCEPT ![m.src][n] = Twice(@, m)]
    /\ UNCHANGED <<node, received, history>>

=============================================================================
