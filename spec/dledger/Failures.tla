------------------------------ MODULE Failures ------------------------------
(***************************************************************************)
(* Failures of the network, the disks, the processes and the machines.     *)
(* The reader learns what a node loses when it goes down, and what it      *)
(* finds when it comes back.                                               *)
(*                                                                         *)
(* A node that goes down keeps its files: the data file with log and tail, *)
(* the file of term and vote, the checkpoint with committedIndex.  A crash *)
(* leaves what was written; a loss of power what was forced.  Everything   *)
(* else is gone, calls and queues included.                                *)
(***************************************************************************)
EXTENDS Store, MessageElections

-----------------------------------------------------------------------------
(* The network.                                                            *)

\* ACTION Lose: a message to n is lost, or cleared from its queues.
Lose(n) ==
    \E m \in Inbox(n) :
    /\ Loss /\ MayLose(n, m)
    /\ network' = Received(network, m)
    /\ UNCHANGED <<node, received, elected, history>>

\* ACTION Duplicate: a message to n will be delivered twice.
Duplicate(n) ==
    \E m \in Inbox(n) :
    /\ Duplication /\ MayDuplicate(n)
    /\ network' = [network EXCEPT ![m.src][n] = Twice(@, m)]
    /\ UNCHANGED <<node, received, elected, history>>

-----------------------------------------------------------------------------
(* The disk.                                                               *)

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

-----------------------------------------------------------------------------
(* Going down.                                                             *)

\* A process leaves its files behind.  committedIndex keeps its last value while the node is down, for
\* the properties: it is what the node said to others.
Down(n, before) ==
    [InitNode(n) EXCEPT !.role = "DOWN",
                        !.currTerm = before.currTerm, !.currVoteFor = before.currVoteFor,
                        !.log = before.log, !.tail = before.tail, !.disk = before.disk,
                        !.ledgerEndTerm = before.ledgerEndTerm, !.checkPoint = before.checkPoint,
                        !.committedIndex = before.committedIndex]

\* The process of n ends and leaves the files of `before`; nobody at n waits for an answer any more.
Dies(n, before) ==
    LET Any(m) == TRUE
    IN  /\ node[n].role # "DOWN"
        /\ node' = [node EXCEPT ![n] = Down(n, before)]
        /\ network' = AllAbandoned(network, n, Any)
        /\ received' = [p \in Node |-> IF p = n THEN EmptyQueues
                                       ELSE AbandonedInQueues(received, n, p, Any)[p]]
        /\ UNCHANGED <<elected, history>>

\* ACTION Crash: the process dies, what it wrote survives (kill -9).
Crash(n) ==
    /\ Crashes /\ MayDie(n)
    /\ Dies(n, node[n])

\* ACTION Shutdown: the process is stopped in good order: the file is forced, the checkpoint written.
\* Source: DLedgerMmapFileStore.shutdown.
Shutdown(n) ==
    /\ Shutdowns /\ MayDie(n)
    /\ Dies(n, [Forced(node[n]) EXCEPT !.checkPoint = node[n].committedIndex])

\* The first `kept` entries of the file have reached the disk; behind them it is as it was last forced.
\* Example: a log <<a, b, c>>, forced as <<a>>, is left as <<a>>, <<a, b>> or <<a, b, c>>.
PowerLost(before, kept) ==
    LET file == before.log \o before.tail
        left == SubSeq(file, 1, kept) \o SubSeq(before.disk, kept + 1, Len(before.disk))
        end  == Min({Len(before.log), Len(left)})
    IN  [before EXCEPT !.log = SubSeq(left, 1, end), !.tail = SubSeq(left, end + 1, Len(left)),
                       !.disk = left, !.committedIndex = Min({@, end - 1})]

\* ACTION LosePower: the machine dies.  Of what was written and not forced the first entries may
\* have reached the disk; from `kept` on the file is as it was last forced.
LosePower(n) ==
    \E kept \in 0..Len(node[n].log) + Len(node[n].tail) :
    /\ PowerLoss /\ MayDie(n)
    /\ Dies(n, PowerLost(node[n], kept))

\* ACTION CrashInPersistTerm: the process dies while it writes its term and its vote: the old file is
\* removed, and the new one has not got its name yet.  Repaired, the new file replaces the old one.
\* Source: MemberState.persistTerm, called by nextTerm and setCurrVoteFor; IOUtils.string2File.
CrashInPersistTerm(n) ==
    /\ VoteFile
    /\ StepwiseElections
    /\ Crashes /\ MayDie(n)
    /\ \/ node[n].role = "CANDIDATE"
       \/ ~VoteMessages /\ \E candidate \in Node : Accepts(n, candidate)
       \/ \E m \in Mail(n) : IsRequest(m, "VOTE") /\ VoteHandled(n, node[n], m, FALSE).code = "ACCEPT"
    /\ Dies(n, [node[n] EXCEPT !.currTerm = 0, !.currVoteFor = NoNode])

\* ACTION CrashInPersistCheckPoint: the process dies while it writes its checkpoint, a file like the other.
\* Source: DLedgerMmapFileStore.persistCheckPoint; IOUtils.string2File.
CrashInPersistCheckPoint(n) ==
    /\ VoteFile
    /\ Crashes /\ MayDie(n)
    /\ CheckPoints /\ MayCheckPoint(n)
    /\ Dies(n, [node[n] EXCEPT !.checkPoint = -1])

-----------------------------------------------------------------------------
(* Coming back.                                                            *)

\* The number of entries that the scan of the data file finds.  It stops at what it cannot read, and at an
\* entry of a lower term than the one before; it does not stop at the end of the log.  Examples, by terms:
\*     log <<1, 1>>, tail <<1>>         it finds 3: the tail looks like the log
\*     log <<1, 2>>, tail <<1, 1>>      it finds 2: term 1 cannot follow term 2
\*     log <<1, Hole, 2>>, tail << >>   it finds 1
Scanned(state) ==
    LET file  == state.log \o state.tail
        Stops == {k \in 1..Len(file) :
                    \/ file[k] = Hole
                    \/ k > 1 /\ file[k].term < file[k - 1].term}
    IN  IF Stops = {} THEN Len(file) ELSE Min(Stops) - 1

\* The log that recovery finds.  Example: of the first file above it takes no entry of the tail, or its one.
Recovered(before, resurrected) ==
    LET file == before.log \o before.tail
        end  == Min({Len(before.log), Scanned(before)}) + resurrected
        log  == SubSeq(file, 1, end)
    IN  Written([before EXCEPT !.role = "CANDIDATE", !.committedIndex = -1, !.log = log,
                               !.tail = Behind(SubSeq(file, end + 1, Len(file))),
                               !.ledgerEndTerm = EndTerm(log)])

\* ACTION Restart: recovery scans the file, takes `resurrected` entries of the tail for entries of the
\* log, and replays the checkpoint through updateCommittedIndex.
\* Source: DLedgerMmapFileStore.recover.
Restart(n) ==
    \E resurrected \in 0..Max({0, Scanned(node[n]) - Len(node[n].log)}) :
    LET found == Recovered(node[n], resurrected)
    IN  /\ node[n].role = "DOWN"
        /\ Step(n, UpdateCommittedIndex(found, found.currTerm, found.checkPoint))

=============================================================================
