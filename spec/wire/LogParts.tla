----------------------------- MODULE LogParts -----------------------------
(***************************************************************************)
(* Parts of logs: entries from an index on.  The reader learns what can be *)
(* said of a log if only parts were seen, and when two are of one log.     *)
(***************************************************************************)
EXTENDS Integers, Sequences

Unknown == -2      \* -1 is the end of a log without entries

Max(a, b) == IF a > b THEN a ELSE b
Min(a, b) == IF a < b THEN a ELSE b

None == [from |-> Unknown, entries |-> <<>>]

End(part) == part.from + Len(part.entries) - 1
Has(part, index) == part.entries # <<>> /\ part.from <= index /\ index <= End(part)
At(part, index) == part.entries[index - part.from + 1]
Part(part, low, high) ==
    IF low > high THEN <<>> ELSE SubSeq(part.entries, low - part.from + 1, high - part.from + 1)

Differ(a, b) == a.term # b.term \/ (a.value # b.value /\ a.value # "" /\ b.value # "")
Clashes(part, sent) ==
    {i \in Max(part.from, sent.from)..Min(End(part), End(sent)) : Differ(At(part, i), At(sent, i))}

\* The same term at the same index: up to there the two logs are one (Raft, Figure 3, Log Matching).
SameUpTo(part, sent) ==
    LET both == Max(part.from, sent.from)..Min(End(part), End(sent))
        same == {i \in both : At(part, i).term = At(sent, i).term}
    IN  IF same = {} THEN Unknown ELSE CHOOSE i \in same : \A j \in same : j <= i

\* Two parts of one log, where they touch; else the newer one.
Joined(part, sent) ==
    IF part.entries = <<>> \/ sent.from > End(part) + 1 \/ End(sent) < part.from - 1 THEN sent
    ELSE LET from == Min(part.from, sent.from)
             before == IF sent.from < part.from THEN Part(sent, sent.from, part.from - 1) ELSE <<>>
             after == IF End(sent) > End(part) THEN Part(sent, End(part) + 1, End(sent)) ELSE <<>>
         IN  [from |-> from, entries |-> IF before = <<>> THEN part.entries \o after
                                         ELSE before \o part.entries \o after]
=============================================================================
