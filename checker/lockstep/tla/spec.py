"""A compiled specification: the one way the rest of the checker looks at TLA+.

>>> spec = load_spec("LockService.tla", "LockService.cfg")   # doctest: +SKIP
>>> state = next(spec.initial_states())                       # doctest: +SKIP
>>> after = spec.step(state, "Lock", {"c": a})                # doctest: +SKIP
"""

from __future__ import annotations

import hashlib
import itertools
import marshal
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType
from typing import Any

from lockstep.base.errors import BadInputError
from lockstep.base.paths import common_dir
from lockstep.base.text_files import text_of
from lockstep.tla.cache import cache_folder, read_cached, write_cached
from lockstep.tla.compile.analysis import CompileError, Program
from lockstep.tla.compile.generate import COMPILER_VERSION, MARKER, generate
from lockstep.tla.explain import Explanation, Tracer
from lockstep.tla.meta import EachMeta, Meta, PartMeta
from lockstep.tla.meta import Path as MetaPath
from lockstep.tla.state import State, state_of
from lockstep.tla.syntax import sany
from lockstep.tla.syntax.cfg import Cfg, parse_cfg
from lockstep.tla.syntax.instances import resolve_instances
from lockstep.tla.syntax.interning import interned
from lockstep.tla.syntax.tree import STANDARD_MODULES, Location, Tree, read_tree
from lockstep.tla.values.kinds import Fcn, ModelValue, TlaError, TlaTypeError, Value, format_value, sort_key
from lockstep.tla.values.names import Names
from lockstep.tlc.java import find_tla2tools

__all__ = [
    "ActionInfo",
    "AmbiguousStep",
    "CompileError",
    "FalseAssumptionError",
    "Parsed",
    "PropertyPart",
    "Spec",
    "load_spec",
    "module_texts",
    "parse_spec",
]


_MOST_COMBINATIONS = 4096
"""A property is taken apart over the elements of constant sets as long as there are no more combinations of them."""

_RECURSION = 10_000
"""How deep Python may call: a recursive operator of TLA+ takes a few calls a level."""


class FalseAssumptionError(BadInputError):
    """The constants are excluded by an ASSUME of the spec."""


class AmbiguousStep(TlaError):  # noqa: N818 - it names what happened
    """An action with given arguments has two different successors."""


@dataclass(frozen=True)
class ActionInfo:
    """A named action of the next-state relation.

    Attributes:
        name: its name.
        params: the names of its parameters, in order.
        labels: the names that TLC gives its edges: its own, unless a constant quantifier makes TLC enter further.
        loc: where it is defined.
    """

    name: str
    params: tuple[str, ...]
    labels: tuple[str, ...]
    loc: Location


PathOf = tuple[str | int | None, ...]


@dataclass(frozen=True)
class EachPart:
    """What a part says of every element of a set, or range of integers, of the state.

    Attributes:
        guard: what must be true, or nothing is said; of a state, the next one, and the part's elements.
        holds: its test, of the same, and the element of the set.
        domain: the set, of what the guard is of; None if it is a range.
        range: its ends, likewise.
        of_domain: the paths that these read.
        whole: the paths that the test reads, but for the following.
        at: sequences that it reads at an index of the element: the path, the element's field or None, an offset.
        thresholds: what it compares a number of the element with: field, offset, the limit's function, its paths.
    """

    guard: Callable[..., bool] | None
    holds: Callable[..., bool]
    domain: Callable[..., Value] | None
    range: tuple[Callable[..., Value], Callable[..., Value]] | None
    of_domain: tuple[PathOf, ...]
    whole: tuple[PathOf, ...]
    at: tuple[tuple[PathOf, str | None, int], ...]
    thresholds: tuple[tuple[str | None, int, Callable[..., Value], tuple[PathOf, ...]], ...]


@dataclass(frozen=True)
class PropertyPart:
    """A part of a property: a conjunct, for every combination of the elements it speaks of.

    Attributes:
        holds: its test, of a state, the next one, and the elements.
        elements: the combinations of elements.
        footprint: the paths into the state that it reads; a number in one is that of an element, None is any.
        eaches: where it says something of every element of a set of the state, or of some sets, what tells for each
            of these which elements a change concerns.
        of_step: whether it is of a property ``[][A]_v``.
    """

    holds: Callable[..., bool]
    elements: tuple[tuple[Value, ...], ...]
    footprint: tuple[PathOf, ...]
    eaches: tuple[EachPart, ...] = ()
    of_step: bool = False


class Spec:
    """A specification, compiled; it needs no Java and can be pickled.

    Attributes:
        source: the Python text it was compiled to, from which :meth:`from_source` makes it again.
        name: the root module.
        variables: the variables, in the order of a state.
        spec_hash: identifies modules, configuration and compiler.
        actions: the actions by name.
        never: the actions that the constants alone make false; there may be more that are never enabled.
        constants: the values of the constants.
        definitions: where each definition of the root module stands.
        property_places: where each property of the cfg is defined.
        model_values: the model values of the configuration, by name.
        unchecked: properties (by name) with parts that are not checked here (liveness), and where they stand.
        check_deadlock: whether the configuration leaves deadlock an error.
        symmetry: the configuration's SYMMETRY, which a search applies.
        view: the configuration's VIEW, which a search applies.
    """

    def __init__(self, source: str, code: CodeType | None = None) -> None:
        """Make a specification of its generated source; see :func:`load_spec` and :meth:`from_source`.

        Args:
            source: the text.
            code: what :func:`_code_of` answers for it, where that is known.
        """
        self.source = source
        sys.setrecursionlimit(max(sys.getrecursionlimit(), _RECURSION))
        self._slow_text = source.partition(MARKER)[2]
        self._module: dict[str, Any] = {"__name__": "lockstep_compiled_spec"}
        exec(_code_of(source) if code is None else code, self._module)
        meta: Meta = self._module["META"]
        self._meta = meta
        self.name: str = meta["name"]
        self.spec_hash: str = meta["spec_hash"]
        self.variables: tuple[str, ...] = tuple(meta["variables"])
        self.actions: dict[str, ActionInfo] = {
            name: ActionInfo(name, tuple(a["params"]), tuple(a["labels"]), Location(*a["loc"]))
            for name, a in meta["actions"].items()
        }
        self.constants: dict[str, Value] = {name: self._module[py] for name, py in meta["constants"].items()}
        self.definitions = {name: Location(*entry["loc"]) for name, entry in meta["definitions"].items()}
        self.property_places = {name: Location(*loc) for name, loc in meta["property_places"].items()}
        self.names: Names = self._module["_names"]
        self.model_values: dict[str, ModelValue] = {name: ModelValue(name) for name in meta["model_values"]}
        self.unchecked: dict[str, list[str]] = meta["unchecked"]
        self.check_deadlock: bool = meta["check_deadlock"]
        self.symmetry: str | None = meta["symmetry"]
        self.view: str | None = meta["view"]
        self._params = {name: tuple(a["params"]) for name, a in meta["actions"].items()}
        self._step = {name: (self._module[a["step"]], tuple(a["params"])) for name, a in meta["actions"].items()}
        self._bound = {name: self._module[a["bound"]] for name, a in meta["actions"].items()}
        self.never = frozenset(name for name, a in meta["actions"].items() if a["never"])
        self._constraints = [self._module[py] for py in meta["constraints"]]
        self._action_constraints = [self._module[py] for py in meta["action_constraints"]]
        self.state_class: type[State] = self._module["State"]

    @classmethod
    def from_source(cls, text: str) -> Spec:
        """Make a specification of the text another's ``source`` is.

        Raises:
            ValueError: if the text is none.
        """
        return cls(text)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle."""
        return (Spec, (self.source,))

    def __repr__(self) -> str:
        """Show the value for a reader of Python."""
        return f"<Spec {self.name} {self.spec_hash[:12]}>"

    # ---- States ----

    def state(self, values: Mapping[str, Value]) -> State:
        """Make a state of the values of all variables.

        Raises:
            KeyError: if a variable is missing, or one is unknown.
        """
        return state_of(self.variables, values)

    def initial_states(self) -> Iterator[State]:
        """List the initial states as TLC generates them: one may come several times.

        Raises:
            TlaError: if the specification has no initial predicate, or evaluation fails.
        """
        if self._meta["init"] is None:
            raise TlaError(f"{self.name} has no initial predicate")
        found: Iterator[State] = self._module[self._meta["init"]]()
        return found

    def successors(self, state: State) -> Iterator[tuple[str, dict[str, Value], State]]:
        """List the successors of a state as TLC generates them.

        Args:
            state: a state.

        Yields:
            The action's name, its arguments by name, and the next state; the same may come several times.
        """
        for name, args, after in self._generated(state):
            yield name, dict(zip(self._params[name], args, strict=True)), after

    def _generated(self, state: State) -> Iterator[tuple[str, tuple[Value, ...], State]]:
        """List the successors: action, arguments in order, next state."""
        function = self._meta["successors"]
        return iter(()) if function is None else self._module[function](state)

    def enabled(self, state: State) -> Iterator[tuple[str, dict[str, Value]]]:
        """List the actions that are enabled in a state, each with each arguments once.

        Args:
            state: a state.

        Yields:
            The action's name and its arguments by name.
        """
        seen: set[tuple[str, tuple[Value, ...]]] = set()
        for name, args, _after in self._generated(state):
            if (name, args) not in seen:
                seen.add((name, args))
                yield name, dict(zip(self._params[name], args, strict=True))

    def step(self, state: State, action: str, args: Mapping[str, Value]) -> State | None:
        """Take a step.

        Args:
            state: a state.
            action: the action's name.
            args: its arguments by name; all of them. They are tested for being in the domains of their quantifiers.

        Returns:
            The next state, or None if the action is not enabled with these arguments.

        Raises:
            KeyError: if there is no such action.
            TypeError: if the arguments are not those of the action.
            AmbiguousStep: if there are two different next states.
            TlaError: if evaluation fails.
        """
        function, params = self._step[action]
        found: State | None = None
        for after in function(state, *self._arguments(action, params, args)):
            if found is None:
                found = after
            elif after != found:
                raise AmbiguousStep(f"{action} has two successors for the same arguments")
        return found

    def _arguments(self, action: str, params: tuple[str, ...], args: Mapping[str, Value]) -> list[Value]:
        if len(args) != len(params) or any(name not in args for name in params):
            raise TypeError(f"{action} takes ({', '.join(params)}), not ({', '.join(args)})")
        return [args[name] for name in params]

    def arguments(self, state: State, action: str) -> Iterator[dict[str, Value]]:
        """List what the quantifiers of an action bind its parameters to, whether it is enabled with that or not.

        Args:
            state: a state.
            action: the action's name.

        Yields:
            The arguments by name, the same perhaps several times; of Nat, Int and STRING one element stands for all.

        Raises:
            KeyError: if there is no such action.
            TlaError: if evaluation fails, or another set cannot be listed.
        """
        params = self.actions[action].params
        for args in self._bound[action](state):
            yield dict(zip(params, args, strict=True))

    def explain(self, state: State, action: str, args: Mapping[str, Value]) -> Explanation:
        """Say why an action is not enabled: per branch, its first false conjunct.

        Args:
            state: a state.
            action: the action's name.
            args: its arguments by name.

        Returns:
            The explanation.

        Raises:
            KeyError: if there is no such action.
            TypeError: if the arguments are not those of the action.
        """
        params = self.actions[action].params
        given = self._arguments(action, params, args)
        module = self._traced
        tracer = Tracer(module["CONJUNCTS"])
        function = module[self._meta["actions"][action]["why"]]
        enabled = False
        try:
            for _after in function(tracer, state, *given):
                enabled = True
        except TlaError as error:
            tracer.broke(error)
        return Explanation(action, dict(args), enabled, tracer.branches())

    @cached_property
    def _traced(self) -> dict[str, Any]:
        exec(compile(self._slow_text, "<compiled TLA+, traced>", "exec"), self._module)
        return self._module

    # ---- Formulas ----

    @cached_property
    def invariants(self) -> dict[str, Callable[[State], bool]]:
        """The configuration's invariants (and properties of the form ``[]P``) by name."""
        return {name: self._module[py] for name, py in self._meta["invariants"].items()}

    @cached_property
    def action_properties(self) -> dict[str, Callable[[State, State], bool]]:
        """The configuration's properties of the form ``[][A]_v``, by name."""
        table = self._meta["action_properties"]
        return {name: _all_of([self._module[py] for py in names]) for name, names in table.items()}

    @cached_property
    def initial_properties(self) -> dict[str, Callable[[State], bool]]:
        """What the configuration's properties ask of the first state (as a refinement does), by name."""
        table = self._meta["initial_properties"]
        return {name: _all_of([self._module[py] for py in names]) for name, names in table.items()}

    @cached_property
    def parts(self) -> dict[str, list[PropertyPart]]:
        """The parts of each invariant and action property, by its name; see :mod:`lockstep.tla.compile.footprints`."""
        return {name: [self._part(each) for each in told] for name, told in self._meta["parts"].items()}

    def _part(self, told: PartMeta) -> PropertyPart:
        one, generated = self._module[told["holds"]], self._module[told["elements"]]
        combinations = tuple(itertools.islice(generated(), _MOST_COMBINATIONS + 1))
        footprint = tuple(map(tuple, told["footprint"]))
        of_step = told["of_step"]
        if len(combinations) <= _MOST_COMBINATIONS:
            return PropertyPart(one, combinations, footprint, tuple(map(self._each, told["eaches"])), of_step)

        def holds(state: State, after: State | None) -> bool:
            return all(one(state, after, *combination) for combination in generated())

        whole = tuple(tuple(None if isinstance(step, int) else step for step in path) for path in footprint)
        return PropertyPart(holds, ((),), whole, (), of_step)

    def _each(self, told: EachMeta) -> EachPart:
        def paths(found: list[MetaPath]) -> tuple[PathOf, ...]:
            return tuple(map(tuple, found))

        module = self._module
        return EachPart(
            guard=None if told["guard"] is None else module[told["guard"]],
            holds=module[told["holds"]],
            domain=None if told["domain"] is None else module[told["domain"]],
            range=None if told["range"] is None else (module[told["range"][0]], module[told["range"][1]]),
            of_domain=paths(told["of_domain"]),
            whole=paths(told["whole"]),
            at=tuple((tuple(path), key, offset) for path, key, offset in told["at"]),
            thresholds=tuple(
                (each["key"], each["offset"], module[each["limit"]], paths(each["footprint"]))
                for each in told["thresholds"]
            ),
        )

    def footprint(self, name: str) -> list[PathOf]:
        """List the paths into the state that a definition reads, 0 being its parameter; see :func:`load_spec`.

        Raises:
            KeyError: if there is no such definition, or it was not asked for when the specification was loaded.
        """
        return list(map(tuple, self._meta["footprints"][name]))

    def constraint(self, state: State) -> bool:
        """Tell whether the configuration's state constraints hold."""
        return all(holds(state) for holds in self._constraints)

    def action_constraint(self, state: State, after: State) -> bool:
        """Tell whether the configuration's action constraints hold of a step."""
        return all(holds(state, after) for holds in self._action_constraints)

    def false_assumptions(self) -> list[Location]:
        """List the ASSUMEs that are false."""
        return [Location(*loc) for py, loc in self._meta["assumptions"] if not self._module[py](None)]

    def refuse_false_assumptions(self) -> None:
        """Raise FalseAssumptionError where the constants are excluded by one of the ASSUMEs."""
        for place in self.false_assumptions():
            raise FalseAssumptionError(f"the ASSUME at {place} is false")

    def arity(self, name: str) -> int:
        """Answer how many arguments a definition of the root module takes; raises KeyError if there is none."""
        return len(self._meta["definitions"][name]["arguments"])

    def evaluate(self, name: str, state: State | None = None, *args: Value, after: State | None = None) -> Value:
        """Evaluate a definition or constant of the root module by name.

        Args:
            name: its name.
            state: the state that unprimed variables refer to; None will do for a constant.
            *args: its arguments: values, or Python functions of values for operators.
            after: the state that primed variables refer to.

        Returns:
            The value.

        Raises:
            KeyError: if there is no such definition.
            CompileError: if the definition is outside the supported language.
            TypeError: if a state is needed, or the arguments are too many or too few.
            TlaError: if evaluation fails.
        """
        if name in self.constants:
            return self.constants[name]
        if name in self._meta["uncompiled"]:
            raise CompileError(self._meta["uncompiled"][name])
        definition = self._meta["definitions"][name]
        how, reads_next = definition["arguments"], definition["reads_next"]
        if len(args) != len(how):
            raise TypeError(f"{name} takes {len(how)} arguments, not {len(args)}")
        states = [s for s, wanted in ((state, definition["reads_now"]), (after, reads_next)) if wanted]
        if None in states:
            raise TypeError(f"{name} needs a {'next ' if reads_next and after is None else ''}state")
        given = [_passed(kind, arg) for kind, arg in zip(how, args, strict=True)]
        value: Value = self._module[definition["function"]](*states, *given)
        return value


def _code_of(source: str) -> CodeType:
    """Answer the code of the part of a generated source that is not for explanations alone.

    Raises:
        ValueError: if it is no generated source.
    """
    fast, marker, _ = source.partition(MARKER)
    if not marker:
        raise ValueError("this is not the source of a compiled specification")
    return compile(fast, "<compiled TLA+>", "exec")


def _passed(kind: str, arg: Any) -> Any:
    """Make an argument what the compiled definition wants: a value, a function that answers it, or an operator."""
    if kind == "l":
        return lambda: arg
    if kind == "o":
        return lambda *thunks: arg(*[thunk() for thunk in thunks])
    return arg


def _all_of(tests: list[Callable[..., bool]]) -> Callable[..., bool]:
    if len(tests) == 1:
        return tests[0]
    return lambda *states: all(test(*states) for test in tests)


# ---- Loading -------------------------------------------------------------------------------------------------------


def load_spec(
    tla_path: str | Path,
    cfg_path: str | Path | None = None,
    *,
    constants: Mapping[str, Value] | None = None,
    cache_dir: str | Path | None = None,
    debug: bool = False,
    search_path: Iterable[str | Path] = (),
    footprints: Iterable[str] = (),
    java: str | None = None,
    jar: str | Path | None = None,
) -> Spec:
    """Load a specification: from the cache, or by SANY and the compiler.

    Args:
        tla_path: the root module's file.
        cfg_path: TLC's configuration; none if None, and then Init and Next are found by name.
        constants: values for constants, besides or instead of the configuration's.
        cache_dir: where compiled specifications are kept; the user's own if None, see :mod:`lockstep.tla.cache`.
        debug: refuse a CHOOSE with more than one witness.
        search_path: further directories with modules, after the root module's own and its parent, before spec/common.
        footprints: definitions whose :meth:`Spec.footprint` will be asked for, where they are there.
        java: the Java launcher.
        jar: ``tla2tools.jar``.

    Returns:
        The specification. Once cached, loading it needs no Java.

    Raises:
        SanyError: if SANY refuses a module.
        ToolMissing: if SANY is needed and there is no Java that is new enough, or no jar.
        ToolDied: if SANY does not finish in its time.
        CfgError: if the configuration cannot be read.
        CompileError: if something needed is outside the supported language.
        OSError: if a file cannot be read.
    """
    root = Path(tla_path)
    directories = _directories(root, search_path)
    given = dict(constants or {})
    cfg_text, cfg = _read_cfg(cfg_path, given)
    modules = _project_modules(root, directories)
    asked = sorted(footprints)
    spec_hash = _hash(modules, root.stem, cfg_text, given, (debug, asked))
    cached = _cache_file(cache_dir, root.stem, spec_hash)
    if (known := _cached(cached)) is not None:
        return known
    xml = _exported(root, modules, directories, cached.parent, java=java, jar=jar)
    tree = read_tree(xml)
    names = interned(tree, _text_of(modules, jar), [*cfg.names, *_names_in(given.values())])
    program = _program(tree, cfg)
    source = generate(program, modules, debug=debug, spec_hash=spec_hash, footprints=asked, names=names)
    write_cached(cached, source.encode())
    return Spec(source)


@dataclass(frozen=True)
class Parsed:
    """A specification that is not compiled: its syntax tree with the configuration, and its text.

    Attributes:
        program: the tree, with INSTANCEs resolved, and the configuration.
        modules: the text of the project's modules by name.
        directories: where modules are looked for.
    """

    program: Program
    modules: dict[str, str]
    directories: list[Path]


def parse_spec(
    tla_path: str | Path,
    cfg_path: str | Path | None = None,
    *,
    constants: Mapping[str, Value] | None = None,
    jar: str | Path | None = None,
) -> Parsed:
    """Parse a specification with SANY.

    Arguments and exceptions are those of :func:`load_spec`.
    """
    root = Path(tla_path)
    directories = _directories(root, ())
    _, cfg = _read_cfg(cfg_path, dict(constants or {}))
    modules = _project_modules(root, directories)
    xml = _exported(root, modules, directories, cache_folder(), jar=jar)
    return Parsed(_program(read_tree(xml), cfg), modules, directories)


def _exported(
    root: Path,
    modules: dict[str, str],
    directories: list[Path],
    folder: Path,
    *,
    java: str | None = None,
    jar: str | Path | None = None,
) -> bytes:
    """Have SANY parse a project, once for all its configurations: what it says is kept, compressed, in a folder."""
    tools = find_tla2tools(None if jar is None else Path(jar)).stat()
    digest = hashlib.sha256(f"{tools.st_size} {tools.st_mtime_ns}".encode())
    for name, text in sorted({**modules, "": root.stem}.items()):
        digest.update(f"{len(name)}:{name}{len(text)}:{text}".encode())
    kept = folder / f"{root.stem}-{digest.hexdigest()[:32]}.xml.z"
    known = read_cached(kept)
    if known is not None:
        with suppress(zlib.error):
            return zlib.decompress(known)
    xml = sany.export(root, java=java, jar=jar, search_path=directories[1:])
    write_cached(kept, zlib.compress(xml))
    return xml


def module_texts(tla_path: str | Path) -> dict[str, str]:
    """Return the text of each module of a project, by name: the root's, and those that it mentions.

    Raises:
        OSError: if a file cannot be read.
    """
    root = Path(tla_path)
    return _project_modules(root, _directories(root, ()))


def _directories(root: Path, search_path: Iterable[str | Path]) -> list[Path]:
    return [root.resolve().parent, root.resolve().parent.parent, *map(Path, search_path), common_dir()]


def _read_cfg(cfg_path: str | Path | None, given: dict[str, Value]) -> tuple[str, Cfg]:
    """Read the text of a configuration and what it says, with the given constants besides or instead of its own."""
    text = text_of(cfg_path) if cfg_path is not None else ""
    cfg = parse_cfg(text, str(cfg_path))
    for name, value in given.items():
        cfg.substitutions.pop(name, None)
        cfg.constants[name] = value
    return text, cfg


def _program(tree: Tree, cfg: Cfg) -> Program:
    resolve_instances(tree)
    return Program(tree, cfg)


def _text_of(modules: dict[str, str], jar: str | Path | None) -> Callable[[str], str | None]:
    """Return what answers the text of a module, of the project or a standard one."""

    def text_of(name: str) -> str | None:
        return modules[name] if name in modules else sany.standard_module(name, jar)

    return text_of


def _names_in(values: Iterable[Value]) -> Iterator[str]:
    """Yield the model values and strings in values, as a configuration would list them."""
    for value in values:
        if isinstance(value, ModelValue):
            yield value.name
        elif isinstance(value, str):
            yield value
        elif isinstance(value, frozenset):
            yield from _names_in(sorted(value, key=sort_key))
        elif isinstance(value, tuple):
            yield from _names_in(value)
        elif isinstance(value, Fcn):
            yield from _names_in(itertools.chain(value.d, value.d.values()))


def _project_modules(root: Path, directories: list[Path]) -> dict[str, str]:
    """Read all modules of the project: the root, and what it mentions that lies in the directories.

    A word too many does no harm: this decides only what the hash covers, and whose text explanations can quote.
    """
    files = {file.stem: file for folder in reversed(directories) for file in folder.glob("*.tla") if file.is_file()}
    texts = {root.stem: text_of(root)}
    pending = [root.stem]
    while pending:
        for word in sorted(files.keys() & set(re.findall(r"\b\w+\b", texts[pending.pop()]))):
            if word not in texts and word not in STANDARD_MODULES:
                texts[word] = text_of(files[word])
                pending.append(word)
    return texts


def _hash(modules: dict[str, str], root: str, cfg_text: str, constants: dict[str, Value], options: object) -> str:
    digest = hashlib.sha256()
    given = sorted((name, format_value(value)) for name, value in constants.items())
    for part in (COMPILER_VERSION, _own_code(), root, cfg_text, repr(given), repr(options)):
        digest.update(f"{len(part)}:{part}".encode())
    for name in sorted(modules):
        digest.update(f"{name}:{len(modules[name])}:{modules[name]}".encode())
    return digest.hexdigest()


def _own_code() -> str:
    """Answer what identifies the compiler itself: a changed compiler must not read an old cache."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _cache_file(folder: str | Path | None, name: str, spec_hash: str) -> Path:
    return (cache_folder() if folder is None else Path(folder)) / f"{name}-{spec_hash[:32]}.py"


def _cached(path: Path) -> Spec | None:
    """Load a specification from the cache; None where it is not there, or cannot be loaded for whatever reason."""
    kept = read_cached(path)
    if kept is None:
        return None
    try:
        source = kept.decode()
        return Spec(source, _cached_code(path, source))
    except Exception:  # It is compiled again, which tells what is wrong if it is not the file.
        return None


def _cached_code(path: Path, source: str) -> CodeType:
    """Answer the code of a cached source, kept beside it in the form that this Python understands."""
    beside = path.with_suffix(f".{MAGIC_NUMBER.hex()}.code")
    if (kept := read_cached(beside)) is not None:
        with suppress(EOFError, TypeError, ValueError):
            known: CodeType = marshal.loads(kept)
            return known
    code = _code_of(source)
    write_cached(beside, marshal.dumps(code))
    return code


def strictly_equal(left: State, right: State) -> bool:
    """Tell whether two states that Python holds equal are equal in TLA+.

    Raises:
        TlaTypeError: if they cannot be compared.
    """
    from lockstep.tla.values.equality import same_kind

    if not all(map(same_kind, left, right)):
        raise TlaTypeError(f"two states differ in kind only:\n{left}\nand\n{right}")
    return left == right
