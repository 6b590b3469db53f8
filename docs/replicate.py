"""Elect a leader, append, crash a node, bring it in line by COMPARE and TRUNCATE, commit: DLedger, step by step.

Each line is a step of a node: its action, the messages that it sends, the node's log and committed index after it, and
the line of the spec that defines the action. An entry is written with its term: a1 is a of term 1.
"""

from pathlib import Path

from raftref.action import definition_in
from raftref.dledger.choices import REPAIRED
from raftref.dledger.simulation import Script, trace_lines

SPEC, TRACE = Path(__file__).parents[1] / "spec" / "dledger", Path("replicate.trace.ndjson")


class PrintedScript(Script):
    def take(self, node, action, *args):
        super().take(node, action, *args)
        store, sent = self.cluster.servers[node].ledger_store, self.events[-1]["sent"]
        step = f"{action}({', '.join(str(each) for each in args if isinstance(each, str | int))})".removesuffix("()")
        messages = [f"{m.get('code', m['type'])} {m.get('index', m.get('commitIndex'))} to {m['dst']}" for m in sent]
        log = ", ".join(f"{entry.value}{entry.term}" for entry in store.log)
        after = f"[{log}] committed {store.committed_index}"
        print(f"{node} {step:<24}{', '.join(messages):<29}{after:<24}{definition_in(SPEC, action)}")


n1, n2, n3 = "n1", "n2", "n3"
play = PrintedScript(REPAIRED)  # three nodes without the flaws of DLedger 0.2.7
print("-- n3 leads term 1, commits a1 with n1, and appends b1, which no other node stores")
play.elect(n3, 1, [n1, n2])
play.take(n3, "AppendAsLeader", "a")
play.bring_in_line(n3, n1)
play.take(n3, "QuorumAckChecker")
play.take(n3, "AppendAsLeader", "b")
print("-- n1 leads term 2; n3 follows it, then crashes")
play.elect(n1, 2, [n2])
play.follow(n3, n1)
play.take(n3, "Crash")
print("-- n1 commits c2 with n2")
play.take(n1, "AppendAsLeader", "c")
play.bring_in_line(n1, n2)
play.take(n1, "QuorumAckChecker")
print("-- n3 restarts with b1; TRUNCATE cuts b1, and n3 learns what is committed")
play.restart(n3)
play.follow(n3, n1)
play.bring_in_line(n1, n3)
play.commit_at(n1, n3)
TRACE.write_text("".join(trace_lines(play.cluster.plan, play.events, scenario="docs/replicate.py")))
print(f"-- {len(play.events)} steps, each of which `lockstep check {TRACE}` takes in the spec")
