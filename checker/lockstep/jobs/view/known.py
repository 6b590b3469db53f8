"""What a page shows of a trace, or of a model's counterexample: steps, states, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.base.progress import Say, silent
from lockstep.base.verdict import Verdict
from lockstep.conformance.check import Finding, TraceCheck, TraceVerdict
from lockstep.conformance.incremental import Branching
from lockstep.jobs.view.window import Window, evaluated, taken
from lockstep.models.counterexample import behaviour_of_violation
from lockstep.models.model_manifest import Manifest, ModelEntry
from lockstep.report.page.behaviour import Said, Shown, Step
from lockstep.report.page.content import Subject
from lockstep.report.page.sources import of_spec
from lockstep.report.text import finding_text, verdict_text
from lockstep.systems.judge import judge_known
from lockstep.systems.opening import open_trace
from lockstep.systems.picture import shown
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.specs import Switches, compiled, system_of
from lockstep.systems.system import System
from lockstep.tla.behaviour import Behaviour
from lockstep.tla.loading.load import load_spec
from lockstep.tla.loading.project import module_texts
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.tables.compiled_search import explore_compiled
from lockstep.tla.values.kinds import TlaError, Value


class NothingToViewError(BadInputError):
    """There is no step to show; the message says why."""


class NoVerdictError(GaveUpError):
    """The check of a trace came to no verdict; the message says why."""


def of_trace(path: Path, switches: Switches, say: Say = silent) -> tuple[Shown, Subject]:
    """Return what a page shows of a trace of a system that lockstep knows: all of it, or the part around what is wrong.

    Arguments: `switches`, constants that replace the header's; `say`, told how far the check is.
    Raises NothingToViewError where the trace is malformed, NoVerdictError where the check gave up.
    """
    window = Window()
    verdict = judge_known(switches, say=say, follower=window)(path)
    refuse_no_verdict(verdict)
    header = open_trace(path).header
    system = system_of(header, str(path))
    subject = subject_of(system, compiled(system, header, str(path), switches))
    say(f"{path}: the states to show")
    return shown_trace(f"{path.name}, {system.title}", verdict, window, subject), subject


def refuse_no_verdict(verdict: TraceVerdict) -> None:
    """Raise NothingToViewError where a trace is malformed, NoVerdictError where its check gave up.

    A trace that goes wrong in a disputed order has no verdict, but something to show.
    """
    is_disputed = any(finding.disputed for finding in verdict.findings)
    if verdict.verdict not in (Verdict.HOLDS, Verdict.VIOLATED) and not is_disputed:
        error = NothingToViewError if verdict.verdict is Verdict.MALFORMED else NoVerdictError
        raise error(verdict_text(verdict).splitlines()[0])


def shown_trace(title: str, verdict: TraceVerdict, window: Window, subject: Subject) -> Shown:
    """Return what a page shows of a trace: the steps that were kept while it was checked.

    Arguments: `verdict`, that of the check.
    """
    steps = window.steps(subject.spec)
    return Shown(
        title=title,
        verdict=str(verdict.verdict),
        reason=verdict.reason,
        steps=steps,
        count=window.count,
        properties=properties_of(subject.spec),
        said=tuple(said_of(verdict, steps, subject)),
        deviates=verdict.deviation is not None,
    )


def replayed(check: TraceCheck, spec: Spec) -> Iterator[Step]:
    """Take the steps of a trace once more, and evaluate every property in each state."""
    return evaluated(taken(check), spec)


def said_of(verdict: TraceVerdict, steps: Sequence[Step], subject: Subject) -> Iterator[Said]:
    """Yield what a verdict finds wrong, at the steps that are shown."""
    places = {(step.source, step.line): place for place, step in enumerate(steps)}
    for finding in verdict.findings:
        lines = [line.strip() for line in finding_text(verdict.source, finding).splitlines()[1:]]
        # A line without a step is of the initial state, or is not shown; one that nothing explains follows the last.
        follows = finding.kind in ("unexplained", "state")
        known = len(steps) - 1 if follows else places.get((finding.source, finding.line))
        if finding.kind == "property":  # of a line that several steps make true, the one by which it fails
            known = next(
                (at for at, step in enumerate(steps[: (known or 0) + 1]) if finding.name in step.failed), known
            )
        place, number = (0, 0) if known is None else (known, steps[known].number)
        if finding.kind == "property" and number == steps[place].number:
            lines += why(finding.name, steps[: place + 1], subject)
        tables = steps[place].tables if steps[place].line == finding.line else ()
        yield Said(number, _title(finding), tuple(lines), tables)


def _title(finding: Finding) -> str:
    return finding_text("", finding).splitlines()[0].partition(": ")[2]


def of_model(manifest: Manifest, model: ModelEntry, system: System, say: Say = silent) -> tuple[Shown, Subject]:
    """Return what a page shows of the counterexample of a model, found by a search of the compiled spec.

    Arguments: `say`, told how many states the search has found, level by level.
    Raises NothingToViewError where the model has none.
    """
    spec, behaviour, label = counterexample(manifest, model, say)
    at = "" if behaviour.back_to is not None else f" in step {len(behaviour.steps) - 1}"
    subject = subject_of(system, spec, manifest.files(model)[0])
    wrong = Wrong(label, f"{label} is violated", f"{label} is violated{at}")
    return shown_of(behaviour, subject, f"{model.name}: {label}", wrong, system), subject


def counterexample(manifest: Manifest, model: ModelEntry, say: Say = silent) -> tuple[Spec, Behaviour, str]:
    """Search a model with the compiled spec; return that, the counterexample, and what it violates.

    Raises NothingToViewError where the model has none.
    """
    module, cfg = manifest.files(model)
    spec = load_spec(module, cfg, search_path=manifest.library)
    found = explore_compiled(
        spec,
        SearchOptions(
            check_deadlock=model.deadlock,
            on_progress=lambda search: say(f"{model.name}: {search.distinct:,} distinct states"),
        ),
    )
    if found.violation is None:
        raise NothingToViewError(f"{model.name} has no violation to view")
    return spec, behaviour_of_violation(spec, found.violation), found.violation.label


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is wrong at the end of a counterexample: the property, if it is one, what is said of it there and on top."""

    label: str
    title: str
    reason: str
    verdict: Verdict = Verdict.VIOLATED


def shown_of(behaviour: Behaviour, subject: Subject, title: str, wrong: Wrong, system: System | None = None) -> Shown:
    """Return what a page shows of a counterexample."""
    spec = subject.spec
    steps = tuple(_of_behaviour(behaviour, spec, system))
    last = steps[-1].number
    place = spec.property_places.get(wrong.label)
    lines = (*(() if place is None else (str(place),)), *why(wrong.label, steps, subject))
    return Shown(
        title=title,
        verdict=str(wrong.verdict),
        reason=wrong.reason,
        steps=steps,
        count=last,
        properties=properties_of(spec),
        said=(Said(last, wrong.title, lines),),
        back_to=behaviour.back_to,
    )


def properties_of(spec: Spec) -> tuple[str, ...]:
    """Return the names of what is evaluated in each state and in each step."""
    return tuple(dict.fromkeys([*spec.invariants, *spec.action_properties]))


def why(name: str, steps: Sequence[Step], subject: Subject) -> Iterator[str]:
    """Yield for which elements a property is false at the last step, which part of it is, and its definition."""
    spec, after = subject.spec, subject.spec.state(steps[-1].state)
    before = spec.state(steps[-2].state) if len(steps) > 1 else after
    for elements in false_for(spec, name, before, after):
        yield f"false for {', '.join(map(shown, elements))}"
    yield from _false_parts(spec, name, before if len(steps) > 1 else None, after)
    place = spec.property_places.get(name)
    if place is not None:
        yield from of_spec(subject.texts, place).splitlines()


def _false_parts(spec: Spec, name: str, before: State | None, after: State) -> Iterator[str]:
    """Yield the parts of a property that are false, with the values of both sides and of what quantifiers bind."""
    try:
        parts = spec.explain_property(name, before, after)
    except TlaError:
        return
    for part in parts:
        yield from (f"{'' if place else 'false: '}{line}" for place, line in enumerate(str(part).split("\n")))


def false_for(spec: Spec, name: str, before: State, after: State) -> Iterator[tuple[Value, ...]]:
    """Yield the elements that the quantifiers of a property bind where it is false of a step, or of the state after it.

    Of a property that is not quantified, and of sets that are not known before, it yields nothing.
    """
    for part in spec.parts.get(name, ()):
        states = (before, after) if part.of_step else (after, None)
        for elements in part.elements:
            try:
                holds = part.holds(*states, *elements)
            except TlaError:
                continue
            if elements and not holds:
                yield elements


def _of_behaviour(behaviour: Behaviour, spec: Spec, system: System | None) -> Iterator[Step]:
    properties = Branching(spec, one_behaviour=True)
    state = spec.state(behaviour.steps[0].state)
    known = properties.standing(state)
    for number, each in enumerate(behaviour.steps):
        after = spec.state(each.state)
        failed, known = (known.failed, known) if number == 0 else properties.step(state, known, after)
        args = dict(each.args or {})
        node = node_of(args, after, system)
        others = {name: value for name, value in args.items() if shown(value) != node}
        yield Step(number, each.action or "", others, node, each.state, failed=failed)
        state = after


def node_of(args: Mapping[str, Value], state: State, system: System | None) -> str:
    """Return the node that takes a step: the first argument that is one; "" where the system has no picture."""
    if system is None or system.picture is None or system.picture.nodes not in state.variables:
        return ""
    nodes = set(state[system.picture.nodes].d)
    return next((shown(value) for value in args.values() if value in nodes), "")


def subject_of(system: System, spec: Spec, module: Path | None = None) -> Subject:
    """Return what a behaviour is of; `module` is the root module, if it is not the system's.

    A model of a part of the system, without nodes, has no picture.
    """
    texts = {**module_texts(system.module), **({} if module is None else module_texts(module))}
    if system.picture is None or system.picture.nodes not in spec.variables:
        return Subject(spec, texts, system.locate)
    return Subject(spec, texts, system.locate, system.picture, None if system.outbox is None else system.outbox.network)


def system_of_manifest(manifest: Manifest) -> System:
    """Return the system whose models a manifest lists."""
    return next(system for system in SYSTEMS.values() if system.manifest == manifest.path)
