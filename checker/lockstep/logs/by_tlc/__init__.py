"""Searching for explanations of logs with TLC: the logs become a module, and TLC explores its behaviours.

The module EXTENDS the spec. Beside the spec's variables it has how far each log was read, how far within a line of
several steps, how often each hidden action was taken since the last line, and the properties that have failed. A line
is a disjunct of its next-state relation, with a disjunct for each way to understand it, and so is a hidden action. What
lockstep.logs.explanation_search gives up for something better, TLC does not: it explores all of it, with no bound but
its time. Nothing is evaluated by the compiled spec: it gives the names of actions, parameters and definitions.
"""

from lockstep.logs.by_tlc.check import check_logs_with_tlc

__all__ = ["check_logs_with_tlc"]
