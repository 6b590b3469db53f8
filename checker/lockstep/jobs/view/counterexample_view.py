"""The counterexample of a model, or of a spec of the user's own, as a behaviour to show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from lockstep.base.progress import Say, silent
from lockstep.base.verdict import Verdict
from lockstep.jobs.view.remarks import failed_properties, property_remark
from lockstep.models.counterexample import behaviour_of_violation
from lockstep.models.search_result import Engine, SpecFiles
from lockstep.models.spec_search import explore_spec
from lockstep.report.page.page_content import PageContext
from lockstep.report.page.shown_behaviour import NothingToShowError, NoVerdictError, ShownBehaviour, ShownStep
from lockstep.systems.node_picture import shown
from lockstep.systems.own_traces import own_system
from lockstep.systems.registry import model_named, model_system
from lockstep.systems.system import System
from lockstep.tla.behaviour import Behaviour
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.loading.spec_project import module_texts
from lockstep.tla.search_options import SearchOptions, SearchProgress
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.tables.compiled_search import explore_compiled
from lockstep.tla.values.kinds import Value


def view_model(name: str, say: Say = silent) -> tuple[ShownBehaviour, PageContext]:
    """Return the counterexample of a model to show, found by a search of the compiled spec.

    Arguments: `say`, called with the number of states that the search has found, level by level.
    Raises UnknownModelError where there is no such model, NothingToShowError where it has no counterexample.
    """
    manifest, model = model_named(name)
    module, cfg = manifest.files(model)
    spec = load_spec(module, cfg, search_path=manifest.library)
    found = explore_compiled(
        spec,
        SearchOptions(
            check_deadlock=model.deadlock,
            on_progress=lambda search: say(_progress_text(name, search)),
        ),
    )
    if found.violation is None:
        raise NothingToShowError(f"{name} has no violation to view")
    behaviour, label = behaviour_of_violation(spec, found.violation), found.violation.label
    at = "" if behaviour.back_to is not None else f" in step {len(behaviour.steps) - 1}"
    context = page_context(model_system(manifest.path), spec, module)
    reason = f"{label} is violated"
    return _shown(behaviour, context, f"{name}: {label}", label, reason, f"{reason}{at}", Verdict.VIOLATED), context


def view_own_spec(files: SpecFiles, say: Say = silent) -> tuple[ShownBehaviour, PageContext]:
    """Return the counterexample to show that a search of a spec of the user's own finds.

    Arguments: `say`, called with the number of states that were found.
    Raises NothingToShowError where nothing is wrong, NoVerdictError where the search gave up, and as load_spec does.
    """
    module = files.module
    found = explore_spec(
        files,
        Engine.COMPILED,
        SearchOptions(on_progress=lambda search: say(_progress_text(module.name, search))),
    )
    if found.counterexample is None:
        error = NoVerdictError if found.verdict is Verdict.INCONCLUSIVE else NothingToShowError
        raise error(f"{module}: there is no counterexample to view: {found.reason}")
    context = PageContext(own_system(files), files.load(), module_texts(module, files.library))
    title = f"{module.stem}: {found.property or found.verdict}"
    label = found.property or ""
    return _shown(found.counterexample, context, title, label, found.reason, found.reason, found.verdict), context


def _shown(
    behaviour: Behaviour, context: PageContext, title: str, label: str, remark: str, reason: str, verdict: Verdict
) -> ShownBehaviour:
    """Return a counterexample to show; `label` is the property that is false at its end, `remark` says so there."""
    steps = tuple(_steps(behaviour, context))
    return ShownBehaviour(
        title=title,
        verdict=str(verdict),
        reason=reason,
        steps=steps,
        count=steps[-1].number,
        properties=context.properties,
        remarks=(property_remark(label, remark, steps, context),),
        back_to=behaviour.back_to,
        back_by="" if behaviour.back_by is None else behaviour.back_by.action or "",
    )


def _steps(behaviour: Behaviour, context: PageContext) -> Iterator[ShownStep]:
    states = [context.spec.state(each.state) for each in behaviour.steps]
    failed = failed_properties(context.spec, states)
    for number, (each, state, names) in enumerate(zip(behaviour.steps, states, failed, strict=True)):
        args = dict(each.args or {})
        node = acting_node(args, state, context.system)
        yield ShownStep(number, each.action or "", args, node, each.state, failed=names)


def acting_node(args: Mapping[str, Value], state: State, system: System) -> str:
    """Return the node that takes a step: the first argument that is one; "" where the system has no picture."""
    if system.picture is None or system.picture.nodes not in state.variables:
        return ""
    nodes = set(state[system.picture.nodes].d)
    return next((shown(value) for value in args.values() if value in nodes), "")


def page_context(system: System, spec: Spec, module: Path | None = None) -> PageContext:
    """Return what a page knows of a spec of a known system; `module` is the root module, if it is not the system's."""
    texts = {**module_texts(system.module), **({} if module is None else module_texts(module))}
    return PageContext(system, spec, texts)


def _progress_text(name: str, search: SearchProgress) -> str:
    """Return how many states a search has found, and what it waits for."""
    return f"{name}: {search.distinct:,} distinct states" + (f", {search.waits_for}" if search.waits_for else "")
