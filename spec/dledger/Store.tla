------------------------------- MODULE Store --------------------------------
(***************************************************************************)
(* The log as a node stores it: DLedgerMmapFileStore.  The reader learns   *)
(* what appending, truncating and committing do to it, and what a file     *)
(* holds that the log does not.                                            *)
(*                                                                         *)
(* The data file is log \o tail.  A write position divides it: `log` is    *)
(* what is before, `tail` what is left behind it when the position moves   *)
(* back.  Writing is not forcing: `disk` is the file as it was last forced *)
(* to the disk, and is what a loss of power leaves.                        *)
(***************************************************************************)
EXTENDS State

\* The file is forced to the disk.
Forced(before)  == [before EXCEPT !.disk = before.log \o before.tail]

\* What becomes of a write: as published, it is forced later (FlushDataService); repaired, at once.
Written(before) == IF AsyncFlush THEN before ELSE Forced(before)

\* The term that votes will look at: as in 0.1, the term that the node is in; or the entry's.
EndTermOf(before, entry) == IF LedgerEndTerm THEN before.currTerm ELSE entry.term

\* What is left behind the write position: as published, it stays in the file; repaired, it is gone.
Behind(entries) == IF TruncatedTail THEN entries ELSE << >>

-----------------------------------------------------------------------------
(* Append and truncate.                                                    *)

\* What is appended is written over as much of the tail.
StoreEntries(before, entries) ==
    Written([before EXCEPT !.log = @ \o entries,
                           !.tail = SubSeq(@, Len(entries) + 1, Len(@)),
                           !.ledgerEndTerm = EndTermOf(before, entries[Len(entries)])])

\* DLedgerMmapFileStore.truncate: from now on the log ends with this entry at this index.  An equal entry is
\* kept, any other is written over.  Only the write position moves.
\* Back: the log <<a, b, c, d>>, truncated to the entry x at index 1, becomes <<a, x>>, and the tail <<c, d>>.
\* A restart may take c and d for entries of the log (Restart, in Failures).
\* Ahead: the log <<a>> with the tail <<b>>, truncated to x at index 3, becomes <<a, b, Hole, x>>.  What is
\* jumped over is what the file has there: an entry that was cut before, or nothing that can be read.
TruncateStore(before, index, entry) ==
    LET file  == before.log \o before.tail
        At(k) == IF k <= Len(file) THEN file[k] ELSE Hole
    IN  Written([before EXCEPT !.log = Append([k \in 1..index |-> At(k)], entry),
                               !.tail = Behind(SubSeq(file, index + 2, Len(file))),
                               !.ledgerEndTerm = EndTermOf(before, entry)])

-----------------------------------------------------------------------------
(* Commit, and what follows for the state machine.                         *)

\* DLedgerMmapFileStore.updateCommittedIndex, with its tests in its order.  A higher term passes.  The old
\* value is a floor, but the clamp to the end of the log comes last.  Examples, with a log that ends at 3:
\*     committedIndex 1, newIndex 2 gives 2
\*     committedIndex 2, newIndex 1 gives 2: 1 is below the floor
\*     committedIndex 2, newIndex 9 gives 3, by the clamp
\*     committedIndex 5, newIndex 9 gives 3: where a TRUNCATE has cut below it, the clamp takes a commit back
UpdateCommittedIndex(before, term, newIndex) ==
    IF \/ newIndex = -1
       \/ EndIndex(before.log) = -1
       \/ term < before.currTerm
       \/ newIndex = before.committedIndex
    THEN before
    ELSE IF newIndex < before.committedIndex \/ newIndex < BeginIndex(before.log)
    THEN before
    ELSE [before EXCEPT !.committedIndex = Min({newIndex, EndIndex(before.log)})]

\* Up to where the state machine is to apply: as published, to the index that was learnt; repaired, to what is
\* committed.
LetApply(before, index) ==
    IF ~Applies THEN before
    ELSE [before EXCEPT !.applyIndex = Max({@, IF ApplyUnclamped THEN index ELSE before.committedIndex})]

\* DLedgerEntryPusher.updateCommittedIndex: the store first, then the state machine.
LearnCommitted(before, term, index) == LetApply(UpdateCommittedIndex(before, term, index), index)

=============================================================================
