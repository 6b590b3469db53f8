"""Hypothesis hunts for a run of the service that PrimaryBackup.tla does not allow."""

from hypothesis import strategies as st
from hypothesis.stateful import rule
from service import BACKUPS, Service

from lockstep.testing import SpecMachine


class WatchedService(Service):
    """The service, whose events happen when a machine lets them, and which reports its steps to the machine."""

    def __init__(self, machine):
        super().__init__(seed=0, hasty=machine.hasty, logs={})
        self.machine = machine

    def later(self, least, most, what, *args):
        self.events.append((what, args))

    def send(self, backup, entry):  # what is lost is sent again, so a loss is a delay
        self.later(0, 0, self.store, backup, entry)

    def log(self, node, what, **fields):
        if what == "put":
            self.machine.took("Put")
        elif what == "stored":
            self.machine.took("Store", b=node)
        else:
            self.machine.took("Commit", n=fields["upto"])

    def ack(self, backup, entry):
        if entry > self.acked[backup]:
            self.machine.took("Acknowledge", b=backup, n=entry)
        super().ack(backup, entry)


class ServiceMachine(SpecMachine):
    spec = "PrimaryBackup.tla"
    hasty = False

    def __init__(self):
        super().__init__()
        self.service = WatchedService(self)

    def shows(self):
        service = self.service
        primary = {"entries": service.written, "committed": service.committed}
        return {"p": primary, **{backup: {"entries": service.stored[backup]} for backup in BACKUPS}}

    @rule()
    def put(self):
        if self.service.written < 4:
            self.service.put()

    @rule(number=st.integers(0, 20))
    def let_something_happen(self, number):
        if events := self.service.events:
            what, args = events.pop(min(number, len(events) - 1))
            what(*args)


class HastyMachine(ServiceMachine):
    hasty = True
    trace = "hasty.trace.ndjson"


TestService = ServiceMachine.TestCase
TestHastyService = HastyMachine.TestCase
