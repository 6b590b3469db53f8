--------------------------- MODULE AlternatingBit ---------------------------
(* Sending over wires that lose: each datum goes with a bit and is repeated    *)
(* until its bit comes back. Wires keep the order and hold Capacity messages.  *)
EXTENDS Integers, Sequences

CONSTANTS Datum, Capacity, Rounds

VARIABLES sending, sent, receivedBit, received, there, back

vars == <<sending, sent, receivedBit, received, there, back>>

Bit == {0, 1}

Init == /\ sending \in [datum: Datum, bit: {1}]
        /\ sent = <<sending.datum>>
        /\ receivedBit = 0
        /\ received = <<>>
        /\ there = <<>> /\ back = <<>>

Drop(s, i)  == [k \in 1..Len(s) - 1 |-> IF k < i THEN s[k] ELSE s[k + 1]]
HasRoom(s)  == Len(s) < Capacity
Sender      == <<sending, sent>>
Receiver    == <<receivedBit, received>>

SendDatum ==
    /\ HasRoom(there)
    /\ there' = Append(there, <<sending.datum, sending.bit>>)
    /\ UNCHANGED <<Sender, Receiver, back>>

ReceiveDatum ==
    /\ there # <<>>
    /\ there' = Tail(there)
    /\ LET datum == Head(there)[1]
           bit   == Head(there)[2]
       IN  IF bit # receivedBit
           THEN receivedBit' = bit /\ received' = Append(received, datum)
           ELSE UNCHANGED Receiver
    /\ UNCHANGED <<Sender, back>>

SendBit ==
    /\ HasRoom(back)
    /\ back' = Append(back, receivedBit)
    /\ UNCHANGED <<Sender, Receiver, there>>

ReceiveBit ==
    /\ back # <<>>
    /\ back' = Tail(back)
    /\ \/ Head(back) # sending.bit /\ UNCHANGED Sender
       \/ /\ Head(back) = sending.bit
          /\ Len(sent) < Rounds
          /\ \E d \in Datum : /\ sending' = [datum |-> d, bit |-> 1 - sending.bit]
                              /\ sent' = Append(sent, d)
    /\ UNCHANGED <<Receiver, there>>

Lose ==
    \/ \E i \in DOMAIN there : there' = Drop(there, i) /\ UNCHANGED <<Sender, Receiver, back>>
    \/ \E i \in DOMAIN back : back' = Drop(back, i) /\ UNCHANGED <<Sender, Receiver, there>>

Next == SendDatum \/ ReceiveDatum \/ SendBit \/ ReceiveBit \/ Lose

Spec == Init /\ [][Next]_vars

TypeOK == /\ sending \in [datum: Datum, bit: Bit]
          /\ sent \in Seq(Datum) /\ received \in Seq(Datum)
          /\ receivedBit \in Bit
          /\ there \in Seq(Datum \X Bit) /\ back \in Seq(Bit)

\* What arrives is a beginning of what was sent, and at most one datum behind it.
IsPrefix(s, t) == Len(s) <= Len(t) /\ s = SubSeq(t, 1, Len(s))
InOrder        == IsPrefix(received, sent) /\ Len(sent) - Len(received) \in {0, 1}
NotAllArrive   == Len(received) < Rounds
=============================================================================
