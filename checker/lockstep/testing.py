"""Hunts with Hypothesis, in pytest, for a run of an implementation that its TLA+ spec does not allow.

A `SpecMachine` is a `hypothesis.stateful.RuleBasedStateMachine` whose rules drive an implementation and report which
actions of the spec it took. The spec takes the same steps. docs/own_implementation.md shows how to write one.
"""

from __future__ import annotations

import functools
import inspect
import json
import shlex
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import msgspec

from lockstep.base.errors import BadInputError
from lockstep.base.extras import extra
from lockstep.conformance.event_reader import EventReader
from lockstep.conformance.json_values import to_tree
from lockstep.conformance.property_evaluation import IncrementalEvaluation
from lockstep.conformance.trace_verdict import place_of_property
from lockstep.models.search_result import SpecFiles
from lockstep.report.text_table import table
from lockstep.systems.mapped_spec import MappedSpec, load_mapped_spec
from lockstep.systems.trace_opening import SpecOptions
from lockstep.tla.behaviour import changes
from lockstep.tla.explain import Branch
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import ArgumentError, TlaError, Value, format_call, format_value
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import FORMAT, OBSERVE, Event, Header, write_trace

with extra("hunt"):
    from hypothesis import currently_in_test_context
    from hypothesis import event as count_event
    from hypothesis.stateful import RuleBasedStateMachine, TestCaseProperty, invariant

if TYPE_CHECKING:
    import unittest

#: How many of the steps that the spec allows a message lists.
MAX_LISTED_STEPS = 20

# Hypothesis warns if the limit changes within a run, and a spec that is loaded raises it to this.
sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))


class OutOfStep(AssertionError):  # noqa: N818 - it names what happened
    """The implementation did, refused or shows something else than the spec, or a property of the spec is violated."""


class UntestedError(AssertionError):
    """A hunt found nothing, and says nothing either: actions of the spec were never taken, or nothing was compared."""


class AdapterError(BadInputError):
    """A SpecMachine names an action, argument, field or value that its spec has not; the message names it."""


# ---- The spec's side of one example ----


@dataclass(frozen=True, slots=True)
class _ReportedStep:
    """A step that the implementation took: the spec's action with its arguments as JSON, and what it changed."""

    action: str
    args: Mapping[str, Any]
    title: str
    changed: str


@dataclass(slots=True)
class _SpecRun:
    """The spec beside an implementation: its state, and the record of steps and of what the nodes showed."""

    loaded: MappedSpec
    null: str | None
    state: State = field(init=False)
    before: State | None = None
    record: list[_ReportedStep | Mapping[str, Any]] = field(default_factory=list)
    reading: EventReader = field(init=False)
    properties: IncrementalEvaluation = field(init=False)

    def __post_init__(self) -> None:
        """Begin in the initial state; raises AdapterError where the spec has several."""
        spec = self.loaded.spec
        initial = list(dict.fromkeys(islice(spec.initial_states(), 2)))
        if len(initial) != 1:
            found = "several initial states" if initial else "no initial state"
            raise AdapterError(f"{spec.name} has {found}, and an implementation begins in one")
        (self.state,) = initial
        self.reading = EventReader(spec.name, spec.actions, self.loaded.interface)
        self.properties = IncrementalEvaluation(spec)
        self.properties.begin(self.state)

    @property
    def spec(self) -> Spec:
        """The spec."""
        return self.loaded.spec

    @property
    def steps(self) -> list[_ReportedStep]:
        """The steps so far."""
        return [each for each in self.record if isinstance(each, _ReportedStep)]

    def arguments(self, action: str, args: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Value]]:
        """Return the arguments of an action as JSON and as values; raises AdapterError where the spec has others."""
        tree = {name: _json(value, self.null, f"{action}({name})") for name, value in args.items()}
        try:
            return tree, self.reading.arguments(0, Event(0, "", action, tree))
        except TraceError as error:
            raise AdapterError(f"{self.spec.name}: {error.problem}") from error

    def next_state(self, action: str, args: Mapping[str, Value]) -> State | None:
        """Return the state that an action leads to; None where it is not enabled."""
        try:
            return self.spec.step(self.state, action, args)
        except ArgumentError as error:
            raise AdapterError(f"{self.spec.name}: {action}({error.name}): {error}") from error

    def take(self, action: str, tree: Mapping[str, Any], args: Mapping[str, Value], after: State | None) -> list[str]:
        """Record a step and go to the state after it, if it is enabled; return the properties that fail there."""
        changed = "" if after is None else "; ".join(_changes(self.state, after))
        self.record.append(
            _ReportedStep(action, tree, format_call(action, args), "not allowed" if after is None else changed)
        )
        if after is None:
            return []
        self.before, self.state = self.state, after
        return self.properties.violated(self.before, after)

    def compare(self, shown: Mapping[str, Any]) -> tuple[int, list[str]]:
        """Compare what is shown, by node where the spec has it so; return the number of values, and the differences."""
        interface, count, found = self.loaded.interface, 0, []
        for node, shows in self.by_node(shown).items():
            event = Event(0, node, OBSERVE, shows=shows)
            observable = interface.observable(self.spec, self.state, self.reading.node(event))
            try:
                compared = self.reading.compare(event, 0, observable)
            except TraceError as error:
                raise AdapterError(f"{self.spec.name}: {error.problem}") from error
            count += compared.value_count
            place = f"{node}." if node else ""
            found += [
                f"{place}{each.path}: the implementation shows {format_value(each.observed)}, "
                f"the spec says {format_value(each.expected)}"
                for each in compared.differences
            ]
        return count, found

    def by_node(self, shown: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what each node shows; of a spec whose nodes do not show something each, "" shows it all."""
        interface = self.loaded.interface
        if not interface.takes_node(self.spec):
            return {"": shown}
        for node, shows in shown.items():
            if not isinstance(shows, Mapping):
                needs = f"{interface.observe} of {self.spec.name} takes a node, so shows() gives each node a dict"
                raise AdapterError(f"{needs}, and {node!r} has {shows!r}")
        return shown

    def allowed(self) -> Iterator[tuple[str, dict[str, Value]]]:
        """Yield the steps that the spec allows now; raises TlaError where they cannot be listed."""
        yield from self.spec.enabled(self.state)

    # ---- The trace ----

    def write_trace(self, path: Path, system: str) -> None:
        """Write what was recorded as a trace, which `lockstep check --spec` reads."""
        snapshots = [self.by_node(each) for each in self.record if not isinstance(each, _ReportedStep)]
        nodes = tuple(dict.fromkeys(node or system for shown in snapshots for node in shown)) or (system,)
        header = Header(FORMAT, system, "1", self.spec.name, nodes, {}, origin="lockstep.testing")
        write_trace(path, header, self._events(nodes))

    def _events(self, nodes: Sequence[str]) -> list[Event]:
        """Return the events: a step shows what its node showed after it; other nodes follow where that has changed."""
        events: list[Event] = []
        before: Mapping[str, Any] = {}
        for number, each in enumerate(self.record, start=1):
            if isinstance(each, _ReportedStep):
                node = next((arg for arg in each.args.values() if isinstance(arg, str) and arg in nodes), nodes[0])
                events.append(Event(len(events), node, each.action, dict(each.args)))
                continue
            shown = {node or nodes[0]: shows for node, shows in self.by_node(each).items()}
            stepped = events[-1].node if events and not events[-1].shows else ""
            if stepped in shown:
                events[-1] = msgspec.structs.replace(events[-1], shows=shown[stepped])
            for node, shows in shown.items():
                if node != stepped and (shows != before.get(node) or number == len(self.record)):
                    events.append(Event(len(events), node, OBSERVE, shows=shows))
            before = shown
        return events


def _changes(before: State, after: State) -> Iterator[str]:
    for change in changes(before.as_dict(), after.as_dict()):
        yield f"{change.path}: {format_value(change.old)} -> {format_value(change.new)}"


def _json(value: Any, null: str | None, path: str) -> Any:
    """Return a Python value as JSON of a trace, a copy; raises AdapterError where it stands for none of TLA+."""
    match value:
        case None if null is not None:
            return null
        case Enum():
            return _json(value.value, null, path)
        case bool() | int() | str():
            return value
        case AbstractSet():
            return {"#set": [_json(each, null, path) for each in value]}
        case list() | tuple():
            return [_json(each, null, path) for each in value]
        case Mapping():
            pairs = [(_json(key, null, path), _json(each, null, f"{path}.{key}")) for key, each in value.items()]
            is_record = all(isinstance(key, str) for key, _ in pairs)
            return dict(pairs) if is_record else {"#map": [[key, each] for key, each in pairs]}
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _json(getattr(value, each.name), null, f"{path}.{each.name}") for each in fields(value)}
    hint = "; name the constant that it stands for in `null`" if value is None else ""
    raise AdapterError(f"{path}: {value!r} stands for no value of TLA+{hint}")


@functools.cache
def _load(files: SpecFiles) -> MappedSpec:
    return load_mapped_spec(files)


def _folder_of(machine: type, attribute: str) -> Path:
    """Return the folder of the file in which the class that sets an attribute is defined; "" where it is in none."""
    owner = next(each for each in machine.__mro__ if attribute in vars(each))
    try:
        return Path(inspect.getfile(owner)).parent
    except (OSError, TypeError):  # as in a notebook
        return Path()


# ---- The machine ----


class _SpecTestCase(TestCaseProperty):
    """The test of a machine, with Hypothesis's settings, which also fails if it has tested nothing."""

    def __get__(self, obj: Any, typ: Any = None) -> Any:
        machine: type[SpecMachine] = typ or type(obj)
        known: type[unittest.TestCase] | None = machine.__dict__.get("_hunt_class")
        if known is None:
            known = machine._hunt_class = _hunt_class(machine, super().__get__(obj, typ))
        return known


def _hunt_class(machine: type[SpecMachine], by_hypothesis: Any) -> type[unittest.TestCase]:
    class Hunt(by_hypothesis):  # type: ignore[misc]  # made by Hypothesis for each machine
        @functools.wraps(by_hypothesis.runTest)
        def runTest(self) -> None:  # noqa: N802 - unittest's name
            _load.cache_clear()  # the files may have changed, as in a notebook
            machine.loaded()  # before Hypothesis begins: compiling it may take a while
            machine._taken_actions, machine._compared_count = Counter(), 0
            super().runTest()
            machine._refuse_empty_hunt()

    Hunt.__name__, Hunt.__qualname__ = by_hypothesis.__name__, by_hypothesis.__qualname__
    Hunt.__module__ = machine.__module__
    return Hunt


class SpecMachine(RuleBasedStateMachine):
    """A state machine of Hypothesis whose implementation must stay in step with a TLA+ spec.

    A subclass sets `spec`, implements `shows`, and has rules (`hypothesis.stateful.rule`) that let the implementation
    do something and call `took` for each action of the spec that it took. `TestCase` is the test, as in Hypothesis.

    Attributes:
        spec: the TLA+ module; a path that is not absolute begins in the folder of the subclass's file.
        cfg: its configuration; None: the .cfg beside it.
        library: further folders with modules.
        null: the constant of the spec that Python's None stands for.
        untested: the actions of the spec that the rules never lead to; the test fails if it never takes another one.
        trace: where a failure writes its minimal run as a trace; None: nowhere.
    """

    spec: ClassVar[str | Path]
    cfg: ClassVar[str | Path | None] = None
    library: ClassVar[Sequence[str | Path]] = ()
    null: ClassVar[str | None] = None
    untested: ClassVar[Collection[str]] = ()
    trace: ClassVar[str | Path | None] = None
    TestCase = _SpecTestCase()

    _hunt_class: ClassVar[type[unittest.TestCase]]
    _taken_actions: ClassVar[Counter[str]] = Counter()
    _compared_count: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self._spec_run = _SpecRun(self.loaded(), self.null)
        self._fail_if_violated(self._initially_violated(), "the initial state")

    @classmethod
    def loaded(cls) -> MappedSpec:
        """Return the spec, compiled once.

        Raises BadInputError where it cannot be used, and as lockstep.load_spec does.
        """
        files = cls._spec_files()
        for file in (files.module, files.cfg):
            if not file.is_file():
                raise AdapterError(f"{cls.__name__}: there is no file {file}")
        return _load(files)

    @classmethod
    def _spec_files(cls) -> SpecFiles:
        if not hasattr(cls, "spec"):
            raise AdapterError(f"{cls.__name__} names no `spec`")
        library = _folder_of(cls, "library")
        return SpecFiles(
            _folder_of(cls, "spec") / cls.spec,
            None if cls.cfg is None else _folder_of(cls, "cfg") / cls.cfg,
            tuple(library / each for each in cls.library),
        )

    # ---- What a subclass implements, and calls ----

    def shows(self) -> Mapping[str, Any]:
        """Return what the implementation shows now: fields of the spec's Observe, or of its variables without one.

        If Observe takes a node, it is a dict of fields for each node. It is compared with the spec after each rule.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method shows()")

    def took(self, action: str, /, **args: Any) -> None:
        """Let the spec take the step that the implementation has just taken.

        Args:
            action: its name in the spec.
            **args: all its parameters by the spec's names: the names of model values as strings, sets as sets,
                sequences as lists, records and functions as dicts or dataclasses.

        Raises:
            OutOfStep: the spec does not allow it, or a property is violated.
            AdapterError: the spec has no such action, or other parameters.
        """
        __tracebackhide__ = True
        tree, values = self._spec_run.arguments(action, args)
        called, after = format_call(action, values), self._spec_run.next_state(action, values)
        violated = self._spec_run.take(action, tree, values, after)
        if after is None:
            why = self._spec_run.spec.explain(self._spec_run.state, action, values).branches
            self._fail_hunt(
                f"{format_call(action, values)} is not a step that {self._spec_run.spec.name} allows here",
                _reasons(why),
            )
        type(self)._taken_actions[action] += 1
        if currently_in_test_context():
            count_event(f"took {action}")
        self._fail_if_violated(violated, called)

    def refused(self, action: str, /, **args: Any) -> None:
        """Check that the spec does not allow a step that the implementation has just refused to take.

        Args and AdapterError are those of `took`; raises OutOfStep where the spec allows it.
        """
        __tracebackhide__ = True
        _, values = self._spec_run.arguments(action, args)
        if self._spec_run.next_state(action, values) is not None:
            name = self._spec_run.spec.name
            title = f"{name} allows {format_call(action, values)} here, and the implementation refuses it"
            self._fail_hunt(title, [], in_trace=False)

    def allowed(self, *actions: str) -> list[tuple[str, dict[str, Any]]]:
        """Return the steps that the spec allows now, to draw from: names and arguments, of all actions or of these.

        Raises TlaError where they cannot be listed.
        """
        words = self._spec_run.loaded.interface.words
        return [
            (action, {name: to_tree(value, words) for name, value in args.items()})
            for action, args in self._spec_run.allowed()
            if not actions or action in actions
        ]

    @invariant()
    def shows_what_the_spec_says(self) -> None:
        """Compare what the implementation shows with the spec's state."""
        __tracebackhide__ = True
        shown = self._shown_now()
        record, run = self._spec_run.record, self._spec_run
        snapshots = [each for each in record if not isinstance(each, _ReportedStep)]
        if not record or isinstance(record[-1], _ReportedStep) or snapshots[-1] != shown:
            record.append(shown)
        count, differences = run.compare(shown)
        type(self)._compared_count += count
        if differences:
            last = run.steps[-1].title if run.steps else "the initial state"
            self._fail_hunt(f"after {last} the implementation shows something else than {run.spec.name}", differences)

    # ---- Failures ----

    def _shown_now(self) -> Mapping[str, Any]:
        shown: Mapping[str, Any] = _json(self.shows(), self.null, "shows()")
        return shown

    def _initially_violated(self) -> list[str]:
        spec, state = self._spec_run.spec, self._spec_run.state
        tests = [*spec.invariants.items(), *spec.initial_properties.items()]
        return list(dict.fromkeys(name for name, holds in tests if not holds(state)))

    def _fail_if_violated(self, names: Sequence[str], by: str) -> None:
        __tracebackhide__ = True
        if names:
            run, name = self._spec_run, names[0]
            why = _reasons(run.spec.explain_property(name, run.before, run.state))
            self._fail_hunt(f"{name} is violated by {by}", why or [place_of_property(run.spec, name)])

    def _fail_hunt(self, title: str, why: Sequence[str], *, in_trace: bool = True) -> NoReturn:
        """Raise OutOfStep with the steps and both sides, and write the trace where one is asked for and can show it."""
        __tracebackhide__ = True
        lines = [title, *(f"    {line}" for line in why), "", *self._steps_taken(), *self._both_sides()]
        if in_trace and self.trace is not None:
            lines += ["", self._written_trace(Path(self.trace))]
        raise OutOfStep("\n".join(lines))

    def _steps_taken(self) -> list[str]:
        rows = [(str(number), each.title, each.changed) for number, each in enumerate(self._spec_run.steps, start=1)]
        return [table(["step", "action", "changes in the spec"], rows)] if rows else ["no step was taken"]

    def _both_sides(self) -> Iterator[str]:
        yield "the spec is in the state"
        yield from (f"    {line}" for line in str(self._spec_run.state).splitlines())
        yield f"and allows {self._listed_steps()}"
        try:
            shown = self._shown_now()
        except Exception as error:  # the implementation may be amid a step
            yield f"the implementation shows nothing: {error!r}"
            return
        yield "the implementation shows"
        yield from (f"    {name}: {json.dumps(each)}" for name, each in shown.items())

    def _listed_steps(self) -> str:
        try:
            found = [
                format_call(action, args) for action, args in islice(self._spec_run.allowed(), MAX_LISTED_STEPS + 1)
            ]
        except TlaError as error:
            return f"steps that cannot be listed: {error}"
        more = ", and more" if len(found) > MAX_LISTED_STEPS else ""
        return ", ".join(found[:MAX_LISTED_STEPS]) + more if found else "no step"

    def _written_trace(self, path: Path) -> str:
        self._spec_run.write_trace(path, type(self).__name__)
        options = SpecOptions(own=self._spec_files())
        return f"trace: lockstep check {shlex.join([*options.command_line(), str(path)])}"

    @classmethod
    def _refuse_empty_hunt(cls) -> None:
        """Raise UntestedError where a hunt that found nothing has missed an action, or compared nothing."""
        spec = cls.loaded().spec
        for name in cls.untested:
            if name not in spec.actions:
                raise AdapterError(f"{cls.__name__}.untested: {spec.name} has no action {name}")
        missed = [
            name for name in spec.actions if not cls._taken_actions[name] and name not in {*cls.untested, *spec.never}
        ]
        if missed:
            advice = "let a rule lead to it, raise max_examples, or name it in `untested`"
            raise UntestedError(f"nothing was found, but no example took {', '.join(missed)} of {spec.name}: {advice}")
        if not cls._compared_count:
            raise UntestedError(f"nothing was found, but shows() of {cls.__name__} showed nothing to compare")


def _reasons(branches: Sequence[Branch]) -> list[str]:
    return [line for branch in branches for line in str(branch).splitlines()]
