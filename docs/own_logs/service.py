"""A primary and two backups, simulated: each writes a log of its own, stamped by a clock of its own."""

import argparse
import contextlib
import heapq
import itertools
import json
import random
from pathlib import Path

BACKUPS = ("b1", "b2")
NODES = ("p", *BACKUPS)


class Service:
    """The primary commits what both backups have; a `hasty` one, what one of them has."""

    def __init__(self, seed, hasty, logs):
        self.random, self.hasty, self.now = random.Random(seed), hasty, 0.0
        self.events, self.numbers = [], itertools.count()
        self.ahead = {node: self.random.uniform(-2, 2) for node in NODES}  # milliseconds
        self.logs = logs  # of each node, the file that it writes
        self.written = self.committed = 0
        self.stored, self.acked = dict.fromkeys(BACKUPS, 0), dict.fromkeys(BACKUPS, 0)

    def log(self, node, what, **fields):
        line = {"ts": round(self.now + self.ahead[node], 3), "event": what, **fields}
        self.logs[node].write(json.dumps(line) + "\n")

    def later(self, least, most, what, *args):
        heapq.heappush(self.events, (self.now + self.random.uniform(least, most), next(self.numbers), what, args))

    def put(self):
        self.written += 1
        self.log("p", "put", entry=self.written)
        for backup in BACKUPS:
            self.send(backup, self.written)

    def send(self, backup, entry):
        if self.random.random() < 0.1:  # lost: sent again
            self.later(30, 60, self.send, backup, entry)
        else:
            self.later(1, 40, self.store, backup, entry)

    def store(self, backup, entry):
        if entry > self.stored[backup] + 1:  # out of order: wait for those before
            self.later(1, 10, self.store, backup, entry)
        elif entry == self.stored[backup] + 1:
            self.stored[backup] = entry
            self.log(backup, "stored", entry=entry)
            self.later(1, 40, self.ack, backup, entry)

    def ack(self, backup, entry):  # nobody writes a line about it
        self.acked[backup] = max(self.acked[backup], entry)
        agreed = (max if self.hasty else min)(self.acked.values())
        if agreed > self.committed:
            self.committed = agreed
            self.log("p", "committed", upto=agreed, of=self.written)

    def run(self, puts):
        for _ in range(puts):
            self.later(0, 20 * puts, self.put)
        while self.events:
            self.now, _, what, args = heapq.heappop(self.events)
            what(*args)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--puts", type=int, default=40)
    options.add_argument("--hasty", action="store_true")
    chosen = options.parse_args()
    chosen.folder.mkdir(exist_ok=True)
    with contextlib.ExitStack() as files:
        logs = {node: files.enter_context((chosen.folder / f"{node}.log").open("w")) for node in NODES}
        Service(chosen.seed, chosen.hasty, logs).run(chosen.puts)


if __name__ == "__main__":
    main()
