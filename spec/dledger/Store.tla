------------------------------- MODULE Store --------------------------------
(***************************************************************************)
(* The log of a node and its file: append, truncate, commit.               *)
(***************************************************************************)
EXTENDS State

\* DLedgerMmapFileStore.updateCommittedIndex: its tests in its order.  A higher term passes; the
\* old value is a floor; the clamp to the end comes last, and so may lower what was past the end.
UpdateCommittedIndex(s, term, newIndex) ==
    IF \/ newIndex = -1
       \/ EndIndex(s.log) = -1
       \/ term < s.currTerm
       \/ newIndex = s.committedIndex
    THEN s
    ELSE IF newIndex < s.committedIndex \/ newIndex < BeginIndex(s.log)
    THEN s
    ELSE [s EXCEPT !.committedIndex = Min({newIndex, EndIndex(s.log)})]

\* D7.  Published: what is written reaches the disk later.  Repaired: it is forced at once.
Forced(s)  == [s EXCEPT !.disk = s.log \o s.tail]
Written(s) == IF AcksBeforeFlush THEN s ELSE Forced(s)

\* D10.  Published, in 0.1: the term n is in.  Repaired: the term of the entry.
EndTermOf(s, entry) == IF EndTermIsCurrTerm THEN s.currTerm ELSE entry.term

\* Appending writes over as much of the tail, if there is any.
StoreEntries(s, entries) ==
    Written([s EXCEPT !.log = @ \o entries, !.tail = SubSeq(@, Len(entries) + 1, Len(@)),
                      !.ledgerEndTerm = EndTermOf(s, entries[Len(entries)])])
StoreEntry(s, entry) == StoreEntries(s, <<entry>>)

\* D5.  Published: what a cut leaves behind the end stays in the file.  Repaired: it is gone.
Behind(entries) == IF KeepsTruncatedTail THEN entries ELSE << >>

\* DLedgerMmapFileStore.truncate: keep an equal entry, write any other; the end is index.
\* Only the write position moves, back or ahead.  What it jumps over is what the file has there:
\* entries that were cut before, or nothing that can be read.
TruncateStore(s, index, entry) ==
    LET file  == s.log \o s.tail
        At(k) == IF k <= Len(file) THEN file[k] ELSE Hole
    IN  Written([s EXCEPT !.log = Append([k \in 1..index |-> At(k)], entry),
                          !.tail = Behind(SubSeq(file, index + 2, Len(file))),
                          !.ledgerEndTerm = EndTermOf(s, entry)])

=============================================================================
