"""The names of a generated module, and what it prints."""

from __future__ import annotations

from dataclasses import dataclass

#: What the module prints about: an event that shows or sent something else, and what is being compared.
SHOWS, SENT, PROBE = "shows", "sent", "probe"


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a module's own: all begin with `prefix`, and none of the spec does.

    `probing`: the module prints what it is about to compare, so that its last word before an error tells whose
    fault that is. The values of the spec are evaluated first: an error in those is not the trace's.
    """

    prefix: str
    probing: bool

    @property
    def operators(self) -> str:
        """The INSTANCE of LockstepOperators."""
        return f"{self.prefix}ops"

    @property
    def next_event(self) -> str:
        """The variable that holds the number of the event to come, from 1 on."""
        return f"{self.prefix}l"

    @property
    def observed(self) -> str:
        """The operator that gives what is observed of a node."""
        return f"{self.prefix}observed"

    @property
    def added(self) -> str:
        """The operator that gives the messages a step adds to the outbox of a node."""
        return f"{self.prefix}added"

    def event(self, number: int) -> str:
        """Name the action that is an event."""
        return f"{self.prefix}event{number}"

    @property
    def print_start(self) -> str:
        """How what the module prints begins."""
        return f'<<"{self.prefix}", '

    def printed(self, what: str, first: str, second: str) -> str:
        """Write a formula that prints two values, and holds."""
        return f'{self.operators}!PrintT({self.print_start}"{what}", {first}, {second}>>)'

    def probe(self, field: str, event: int = 0) -> list[str]:
        """Write the conjunct that says which field is compared next, or which event is taken (0: the same).

        A module that does not probe has none.
        """
        return [self.printed(PROBE, f'"{field}"', str(event))] if self.probing else []

    def evaluated(self, value: str) -> list[str]:
        """Write the conjunct that evaluates a value of the spec's; none in a module that does not probe."""
        return [*self.probe(""), f"{self.operators}!Evaluated({value})"] if self.probing else []
