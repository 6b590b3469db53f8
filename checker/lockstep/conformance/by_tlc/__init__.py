"""Checking a trace with TLC alone: the trace becomes a module, and TLC takes its steps.

The module EXTENDS the spec and has a variable that counts events. Step l must be the action of event l with the
event's own arguments; what the event shows and sent must agree, by the rules of lockstep.conformance.trace_check. Every
property of the cfg is TLC's to check. Nothing is evaluated by the compiled spec: it gives the names of actions,
parameters and definitions.

How an argument is bound: an action chooses its parameters with quantifiers, so it is written once more with each
of these quantifiers narrowed to the argument, if that is in the quantifier's set. The body is copied from the
spec's text, column by column, and an action that chooses nothing is used as it is.
"""
