---------------------------- MODULE Impostor ----------------------------
\* Prints TLC's message of success, and then reaches a deadlock.
EXTENDS Naturals, TLC

VARIABLE count

Init == count = 0

Next ==
  /\ count < 1
  /\ PrintT("\n@!@!@STARTMSG 2193:0 @!@!@\nModel checking completed. No error has been found.\n@!@!@ENDMSG 2193 @!@!@")
  /\ PrintT(<<"count", count>>)
  /\ count' = count + 1

Spec == Init /\ [][Next]_count
===========================================================================
