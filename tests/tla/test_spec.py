"""A loaded specification: steps, explanations, properties, evaluation by name, the cache, and clear refusals."""

from __future__ import annotations

import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lockstep.tla.compile.spec_fault import SpecFault
from lockstep.tla.explore import explore
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import AmbiguousStep, CompileError, FalseAssumptionError, Spec
from lockstep.tla.syntax import sany
from lockstep.tla.syntax.sany import SanyError, export
from lockstep.tla.values.kinds import ArgumentError, Fcn, ModelValue, TlaAssertionError, TlaError
from tests.support.places import SPECS
from tests.support.sampling import sampled
from tests.support.tla.ready_sany import SANY_OF_ITS_OWN

MODULES = SPECS / "tla"


def load(folder: Path, body: str, cfg: str = "", name: str = "Small", **options: bool) -> Spec:
    path = folder / f"{name}.tla"
    path.write_text(f"---- MODULE {name} ----\n{body}\n====\n")
    path.with_suffix(".cfg").write_text(cfg)
    cache = folder.parent / "parsed"  # of all tests here: many a module is loaded with several configurations
    return load_spec(path, path.with_suffix(".cfg"), cache_dir=cache, **options)


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Spec:
    return load_spec(
        MODULES / "MessageBag.tla", MODULES / "MessageBag.cfg", cache_dir=tmp_path_factory.mktemp("bag") / "cache"
    )


N1, N2 = ModelValue("n1"), ModelValue("n2")


# ---- Steps ----


def test_an_action_has_the_parameters_of_its_quantifiers_in_order(bag: Spec) -> None:
    assert {name: info.params for name, info in bag.actions.items()} == {
        "Send": ("n", "k"),
        "Receive": ("n", "m"),
        "Lose": ("n", "m"),
        "Duplicate": ("n", "m"),
        "Forget": ("n",),
    }
    assert (bag.actions["Receive"].loc.module, bag.actions["Receive"].loc.line) == ("MessageBag", 37)


def test_a_step_takes_the_one_successor(bag: Spec) -> None:
    (start,) = bag.initial_states()
    after = bag.step(start, "Send", {"n": N1, "k": N2})
    assert after is not None
    assert (after["sent"], after.bag) == (1, Fcn({Fcn({"id": 0, "to": N2}): 1}))


def test_arguments_outside_their_domain_make_no_step(bag: Spec) -> None:
    (start,) = bag.initial_states()
    assert bag.step(start, "Send", {"n": ModelValue("n9"), "k": N2}) is None
    assert bag.step(start, "Receive", {"n": N1, "m": Fcn({"id": 0, "to": N1})}) is None


#: A set, and a value that cannot be compared with its elements.
DOMAINS = [("{1, 2}", "a"), ("1..2", "a"), ("Nat", True), ("SUBSET {1}", 1), ("{k \\in Nat : k > 0}", "a")]


@pytest.mark.parametrize(("domain", "given"), sampled(DOMAINS, DOMAINS[2:4]))
def test_an_argument_that_cannot_be_compared_with_its_domain_is_named(
    domain: str, given: object, tmp_path: Path
) -> None:
    body = f"EXTENDS Naturals\nVARIABLE x\nInit == x = 0\nGo == \\E wanted \\in {domain} : x' = 1\nNext == Go"
    spec = load(tmp_path, body)
    (start,) = spec.initial_states()
    with pytest.raises(ArgumentError) as caught:
        spec.step(start, "Go", {"wanted": given})
    assert caught.value.name == "wanted"


@pytest.mark.parametrize(
    "body",
    [
        "Go == \\E k \\in {Head(<< >>)} : x' = 1",
        "Go == \\E k \\in Head(<<3>>) : x' = 1",
        "Go == \\E k \\in 1..TRUE : x' = 1",
        "Go == \\E k \\in {j \\in Nat : j = TRUE} : x' = 1",
        "Go == \\E k \\in {1} : x = TRUE /\\ x' = 1",
    ],
    ids=["no value", "no set", "no limit", "no test", "the body"],
)
def test_a_mistake_of_the_specification_is_never_called_the_argument_s_fault(body: str, tmp_path: Path) -> None:
    spec = load(tmp_path, f"EXTENDS Naturals, Sequences\nVARIABLE x\nInit == x = 0\n{body}\nNext == Go")
    (start,) = spec.initial_states()
    with pytest.raises(TlaError) as caught:
        spec.step(start, "Go", {"k": 1})
    assert not isinstance(caught.value, ArgumentError)


def test_unknown_actions_and_wrong_arguments_are_refused(bag: Spec) -> None:
    (start,) = bag.initial_states()
    with pytest.raises(KeyError):
        bag.step(start, "Explode", {})
    for args in ({}, {"n": N1}, {"n": N1, "k": N2, "m": N1}, {"n": N1, "x": N2}):
        with pytest.raises(TypeError, match=r"Send takes \(n, k\)"):
            bag.step(start, "Send", args)


def test_a_step_that_is_not_determined_is_refused(bag: Spec, tmp_path: Path) -> None:
    spec = load(tmp_path, "VARIABLE x\nInit == x = 0\nPick == x' \\in {1, 2}\nNext == Pick")
    (start,) = spec.initial_states()
    with pytest.raises(AmbiguousStep):
        spec.step(start, "Pick", {})


def test_a_state_is_made_of_named_values_and_survives_pickling(bag: Spec) -> None:
    (start,) = bag.initial_states()
    assert bag.state(start.as_dict()) == start
    assert pickle.loads(pickle.dumps(start)) == start
    assert start.replace(sent=2).sent == 2
    with pytest.raises(KeyError):
        bag.state({"bag": ()})


# ---- What TLC refuses ----


def test_a_variable_left_unassigned_is_an_error(tmp_path: Path) -> None:
    spec = load(tmp_path, "VARIABLES x, y\nInit == x = 0 /\\ y = 0\nNext == \\/ x' = 1 /\\ y' = 1\n        \\/ x' = 2")
    (start,) = spec.initial_states()
    for take in (lambda: list(spec.successors(start)), lambda: spec.step(start, "Next", {})):
        with pytest.raises(SpecFault, match=r"^\w+.tla:\d+:1: LS604 Next does not say what y becomes"):
            take()


def test_a_primed_variable_read_before_it_is_assigned_is_an_error(tmp_path: Path) -> None:
    spec = load(tmp_path, "EXTENDS Naturals\nVARIABLES x\nInit == x = 0\nNext == x' > 0 /\\ x' = 1")
    (start,) = spec.initial_states()
    for take in (lambda: list(spec.successors(start)), lambda: spec.step(start, "Next", {})):
        with pytest.raises(SpecFault, match=r"^\w+.tla:\d+:\d+: LS603 Next: x' is read before it is said what x' is"):
            take()


def test_a_failure_among_the_successors_names_action_arguments_and_place(tmp_path: Path) -> None:
    spec = load(
        tmp_path,
        "EXTENDS Naturals\nVARIABLE x\nInit == x = 0\nPick(n) == x' = n \\/ x' = 3 - n\n"
        'Put(n) == x\' = x + (IF n = 2 THEN "b" ELSE n)\n'
        "Next == (\\E n \\in {1, 2} : Pick(n)) \\/ \\E n \\in {1, 2} : Put(n)",
    )
    (start,) = spec.initial_states()
    for ask in (spec.successors, spec.enabled):
        listed = ask(start)
        assert [next(listed)[0] for _ in range(3)] == ["Pick", "Pick", "Pick" if ask == spec.successors else "Put"]
        with pytest.raises(SpecFault, match=r'Put\(n = 2\): \+ needs an integer, but was given "b"$') as raised:
            list(listed)
        assert (raised.value.code, raised.value.place) == ("LS603", f"{spec.name}.tla:6:11")
        kept = pickle.loads(pickle.dumps(raised.value))
        assert (str(kept), kept.place) == (str(raised.value), raised.value.place)


def test_an_init_that_leaves_a_variable_out_is_reported_with_its_place(tmp_path: Path) -> None:
    spec = load(tmp_path, "VARIABLES x, y\nInit == x = 0\nNext == UNCHANGED <<x, y>>")
    with pytest.raises(SpecFault, match=r"^\w+.tla:3:1: LS604 Init does not say what y is$"):
        list(spec.initial_states())


def test_only_variables_of_the_spec_are_left_out_where_an_instance_has_some_for_its_enabled(tmp_path: Path) -> None:
    body = """EXTENDS Naturals
VARIABLES x, y, z
---- MODULE Inner ----
VARIABLE chosen
Live == WF_chosen(chosen = 0 /\\ chosen' = 1)
====
I == INSTANCE Inner WITH chosen <- x
Init == x = 0 /\\ y = 0 /\\ z = 0
Next == z' = 1 - z
Live == I!Live"""
    spec = load(tmp_path, body, "INIT Init\nNEXT Next\nPROPERTY Live\n")
    (start,) = spec.initial_states()
    with pytest.raises(SpecFault, match=r"Next does not say what x and y become \(a missing UNCHANGED\?\)$"):
        list(spec.successors(start))


def test_a_false_assert_among_the_successors_is_raised_as_such(tmp_path: Path) -> None:
    spec = load(tmp_path, 'EXTENDS TLC\nVARIABLE x\nInit == x = 0\nNext == Assert(x # 0, "low") /\\ x\' = 1')
    (start,) = spec.initial_states()
    with pytest.raises(TlaAssertionError):
        list(spec.successors(start))


def test_a_let_that_reads_the_next_state_is_computed_anew_in_every_branch(tmp_path: Path) -> None:
    spec = load(
        tmp_path,
        "EXTENDS Naturals\nVARIABLES x, y\nInit == x = 0 /\\ y = 0\n"
        "Next == LET twice == 2 * x' IN (x' = 1 \\/ x' = 2) /\\ y' = twice",
    )
    (start,) = spec.initial_states()
    assert [tuple(after) for _, _, after in spec.successors(start)] == [(1, 2), (2, 4)]


@pytest.mark.parametrize(
    ("definition", "line", "said"),
    [
        ("Next == x' = CHOOSE v : v \\notin {1}", 4, "CHOOSE without a bound"),
        ("Next == x' = JavaTime", 4, "JavaTime"),
        ("Next == \\A v : x' = v", 4, "UnboundedForall"),
        ("CONSTANT Unset\nNext == x' = Unset", 4, "Unset has no value"),
        ("Next == x' = 1.5", 4, "DecimalNode"),
    ],
)
def test_an_unsupported_construct_is_named_with_module_and_line(
    definition: str, line: int, said: str, tmp_path: Path
) -> None:
    with pytest.raises(CompileError, match=f"Small.tla:{line}:.* .*{said}"):
        load(tmp_path, f"EXTENDS Reals, TLC\nVARIABLE x\n{definition}\nInit == x = 0")


def test_an_unsupported_definition_that_nothing_needs_is_refused_only_when_evaluated(tmp_path: Path) -> None:
    spec = load(tmp_path, "VARIABLE x\nInit == x = 0\nNext == x' = x\nOdd == CHOOSE v : v # 1")
    assert len(list(spec.initial_states())) == 1
    with pytest.raises(CompileError, match=r"Small.tla:5"):
        spec.evaluate("Odd")


@pytest.mark.parametrize(
    ("cfg", "said"),
    [
        ("INVARIANT Nothing", "Nothing"),
        ("CONSTANT Nothing <- Init", "Nothing"),
        ("CONSTANT x <- Nothing", "Nothing"),
        ("POSTCONDITION Nothing", "Nothing"),
        ("INIT Nothing NEXT Next", "INIT Nothing is not defined"),
        ("CONSTANT F <- Init", "F takes 1 argument, but the configuration gives it 0"),
    ],
)
def test_a_configuration_that_names_what_is_not_there_is_refused(cfg: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=said):
        load(tmp_path, "VARIABLE x\nInit == x = 0\nNext == x' = x\nF(n) == n", cfg)


def test_a_module_that_does_not_parse_is_refused_with_file_and_line(tmp_path: Path) -> None:
    with pytest.raises(SanyError, match=r"Small.tla:3:") as caught:
        load(tmp_path, "A == 1\nB == ==")
    assert caught.value.line == 3
    with pytest.raises(SanyError, match="Unknown operator: `Missing'"):
        load(tmp_path, "A == Missing", name="Other")
    with pytest.raises(SanyError, match="Absent"):
        load(tmp_path, "EXTENDS Absent", name="Third")


def test_choose_takes_the_first_witness(tmp_path: Path) -> None:
    body = "VARIABLE x\nInit == x = 0\nNext == x' = x\nAny == CHOOSE v \\in {3, 1, 2} : v # 1"
    assert load(tmp_path, body).evaluate("Any") == 2


def test_a_recursion_of_a_thousand_levels_and_forty_conjuncts_are_no_obstacle(tmp_path: Path) -> None:
    conjuncts = "\n".join(rf"        /\ \E k{i} \in {{{i}}} : x < k{i} + 1" for i in range(40))
    spec = load(
        tmp_path,
        "EXTENDS Naturals\nVARIABLE x\nInit == x = 0\nRECURSIVE Sum(_)\n"
        "Sum(n) == IF n = 0 THEN 0 ELSE n + Sum(n - 1)\nUp ==\n" + conjuncts + "\n        /\\ x' = 1\nNext == Up",
    )
    (start,) = spec.initial_states()
    assert spec.evaluate("Sum", None, 1000) == 500500
    assert [after.x for _, _, after in spec.successors(start)] == [1]
    assert spec.step(start, "Up", {}) == start.replace(x=1)
    assert spec.explain(start.replace(x=1), "Up", {}).branches[0].failed.text == "x < k0 + 1"


# ---- Explanations ----


def test_an_explanation_names_the_first_false_conjunct_with_both_sides(bag: Spec) -> None:
    (start,) = bag.initial_states()
    explanation = bag.explain(start.replace(sent=2), "Send", {"n": N1, "k": N2})
    (branch,) = explanation.branches
    assert not explanation.enabled
    assert (branch.failed.text, branch.left, branch.right) == ("sent < Max", (2,), (2,))
    assert (branch.failed.loc.module, branch.failed.loc.line) == ("MessageBag", 28)
    assert [held.text for held in branch.held] == [r"n \in Node", r"k \in Node"]
    assert "sent < Max" in str(explanation)


def test_the_branch_with_the_longest_true_prefix_comes_first(tmp_path: Path) -> None:
    spec = load(
        tmp_path,
        """EXTENDS Naturals
VARIABLES x
Init == x = 0
Ready == /\\ x < 5
         /\\ x # 0
Go == \\/ x = 7 /\\ x' = 1
      \\/ /\\ x = 0
         /\\ Ready
         /\\ x' = 2
      \\/ \\E k \\in {1, 2} : x = k /\\ x' = 3
Next == Go""",
    )
    (start,) = spec.initial_states()
    explanation = spec.explain(start, "Go", {})
    assert [(b.failed.text, b.failed.loc.line, len(b.held)) for b in explanation.branches] == [
        ("x # 0", 6, 2),
        ("x = 7", 7, 0),
        ("x = k", 11, 0),
        ("x = k", 11, 0),
    ]
    assert [dict(b.bound) for b in explanation.branches[2:]] == [{"k": 1}, {"k": 2}]


def test_an_enabled_action_is_explained_as_enabled(bag: Spec) -> None:
    (start,) = bag.initial_states()
    assert bag.explain(start, "Send", {"n": N1, "k": N1}).enabled


# ---- Properties and names ----


def test_invariants_and_step_properties_are_checked(tmp_path: Path) -> None:
    cfg = tmp_path / "DieHard.cfg"
    cfg.write_text("SPECIFICATION Spec\nINVARIANT NotFour\n")
    found = explore(load_spec(MODULES / "DieHard.tla", cfg, cache_dir=tmp_path))
    assert found.violation is not None
    assert (found.violation.kind, found.violation.name, len(found.violation.trace)) == ("invariant", "NotFour", 7)
    assert found.violation.trace[-1].state.big == 4
    cfg.write_text("SPECIFICATION Spec\nPROPERTY NeverBothProp\n")
    found = explore(load_spec(MODULES / "DieHard.tla", cfg, cache_dir=tmp_path))
    assert found.violation is not None
    assert (found.violation.kind, found.violation.trace[-1].action) == ("action property", "ToSmall")


def test_a_deadlock_is_found_unless_it_is_allowed(tmp_path: Path) -> None:
    body = "EXTENDS Naturals\nVARIABLE x\nInit == x = 0\nUp == x < 2 /\\ x' = x + 1\nNext == Up"
    found = explore(load(tmp_path, body))
    assert found.violation is not None
    assert (found.violation.kind, [step.state.x for step in found.violation.trace]) == ("deadlock", [0, 1, 2])
    assert explore(load(tmp_path, body, "CHECK_DEADLOCK FALSE")).complete


def test_states_that_differ_in_kind_only_are_not_merged(tmp_path: Path) -> None:
    spec = load(tmp_path, "VARIABLE x\nInit == x = 1 \\/ x = TRUE\nNext == x' = x")
    assert [state.as_dict()["x"] for state in explore(spec).states] == [1, True]
    assert explore(spec).distinct == 2


def test_definitions_and_constants_are_evaluated_by_name(bag: Spec) -> None:
    (start,) = bag.initial_states()
    after = bag.step(start, "Send", {"n": N1, "k": N2})
    assert bag.constants == {"Node": frozenset({N1, N2}), "Max": 2}
    assert bag.evaluate("Inbox", after, N2) == frozenset({Fcn({"id": 0, "to": N2})})
    assert bag.evaluate("Max") == 2
    assert bag.evaluate("Send", start, N1, N2, after=after) is True
    assert bag.evaluate("Send", after, N1, N2, after=start) is False
    with pytest.raises(TypeError, match="needs a state"):
        bag.evaluate("Inbox", None, N2)
    with pytest.raises(TypeError, match="takes 1"):
        bag.evaluate("Inbox", start)
    with pytest.raises(KeyError):
        bag.evaluate("Nothing", start)


def test_constants_are_given_besides_the_configuration(tmp_path: Path) -> None:
    spec = load_spec(
        MODULES / "MessageBag.tla", MODULES / "MessageBag.cfg", constants={"Max": 1}, cache_dir=tmp_path / "cache"
    )
    assert spec.constants["Max"] == 1
    other = load_spec(MODULES / "MessageBag.tla", MODULES / "MessageBag.cfg", cache_dir=tmp_path / "cache")
    assert (other.constants["Max"], spec.spec_hash != other.spec_hash) == (2, True)


@pytest.mark.parametrize(("features", "value"), [('{"a", "b"}', (1, 4)), ('{"a"}', (1, 4)), ("{}", (2, 4))])
def test_a_formula_over_the_members_of_a_constant_set_is_decided_once(
    features: str, value: tuple[int, int], tmp_path: Path
) -> None:
    """The same holds in an instance, where the set is another."""
    inner = 'CONSTANT Features\nHasA == "a" \\in Features\nLacksA == ~HasA\nShown == IF LacksA THEN 4 ELSE 3'
    (tmp_path / "Inner.tla").write_text(f"---- MODULE Inner ----\n{inner}\n====\n")
    body = 'CONSTANT Features\nHasA == "a" \\in Features\nLess == Features \\ {"a"}\n'
    body += "I == INSTANCE Inner WITH Features <- Less\nShown == <<IF HasA THEN 1 ELSE 2, I!Shown>>"
    spec = load(tmp_path, body, f"CONSTANT Features = {features}")
    assert spec.evaluate("Shown") == value
    assert not re.search(r"(?<!def )\b\w*HasA\(\)", spec.source)


def test_a_constant_or_definition_is_given_within_one_module_and_in_its_copies(tmp_path: Path) -> None:
    inner = "CONSTANT K\nNone == CHOOSE v : v \\notin K\nMany == 1\nShown == <<None, Many, K>>"
    (tmp_path / "Inner.tla").write_text(f"---- MODULE Inner ----\n{inner}\n====\n")
    body = "Two == 2\nMany == 3\nI == INSTANCE Inner WITH K <- {5}\nShown == <<I!Shown, Many>>"
    spec = load(tmp_path, body, "CONSTANTS None = [Inner]nothing Many <- [Inner]Two")
    assert spec.evaluate("Shown") == ((ModelValue("nothing"), 2, frozenset({5})), 3)


def test_parts_of_a_property_that_are_not_checked_are_listed(tmp_path: Path) -> None:
    body = "VARIABLE x\nInit == x = 0\nNext == x' = x\n"
    body += "Live == (\\EE z : [](z = x)) /\\ <>(x = 0) /\\ [](x = 0) /\\ x = 0 /\\ [][x' = x]_x"
    spec = load(tmp_path, body, "PROPERTY Live")
    assert list(spec.unchecked) == list(spec.temporal) == ["Live"]
    assert list(spec.invariants) == list(spec.action_properties) == list(spec.initial_properties) == ["Live"]
    found = explore(spec)
    assert (found.complete, found.violation, found.unchecked) == (True, None, ("Live",))


def test_a_false_assumption_is_reported(tmp_path: Path) -> None:
    body = "CONSTANT N\nASSUME N = 2\nASSUME N # 3\nVARIABLE x\nInit == x = 0\nNext == x' = x"
    spec = load(tmp_path, body, "CONSTANT N = 3")
    assert [loc.line for loc in spec.false_assumptions()] == [3, 4]
    with pytest.raises(FalseAssumptionError, match=r"^the ASSUME at Small.tla:3:1 is false$"):
        explore(spec)


# ---- The cache ----


def test_many_at_once_read_the_standard_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sany, "_run", SANY_OF_ITS_OWN)
    module = SPECS / "systems" / "BagQueue.tla"
    with ThreadPoolExecutor(4) as pool:
        assert len({*pool.map(lambda _: export(module), range(4))}) == 1


def test_a_spec_without_an_initial_predicate_has_an_error_without_a_place(tmp_path: Path) -> None:
    module, cfg = tmp_path / "Bare.tla", tmp_path / "Bare.cfg"
    module.write_text("---- MODULE Bare ----\n====\n", encoding="utf-8")
    cfg.write_text("", encoding="utf-8")
    with pytest.raises(TlaError, match=r"^LS603 Init: Bare has no initial predicate"):
        explore(load_spec(module, cfg, cache_dir=tmp_path / "cache"))


def test_a_second_load_needs_no_java(tmp_path: Path) -> None:
    first = load_spec(MODULES / "Registers.tla", MODULES / "Registers.cfg", cache_dir=tmp_path)
    again = load_spec(
        MODULES / "Registers.tla", MODULES / "Registers.cfg", cache_dir=tmp_path, java=str(tmp_path / "no-java")
    )
    assert again.source == first.source
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".code", ".py", ".z"]


def test_a_change_in_any_module_or_in_the_configuration_is_noticed(tmp_path: Path) -> None:
    for name in ("Registers.tla", "Registers.cfg", "Counter.tla"):
        (tmp_path / name).write_text((MODULES / name).read_text())
    hashes = set()
    for name, old, new in (
        ("Counter.tla", "", ""),
        ("Counter.tla", "value < Limit", "value <= Limit"),
        ("Registers.tla", "x > 2", "x > 3"),
        ("Registers.cfg", "INVARIANTS Small Shapes", ""),
    ):
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_text(text.replace(old, new) if old else text)
        hashes.add(load_spec(tmp_path / "Registers.tla", tmp_path / "Registers.cfg", cache_dir=tmp_path).spec_hash)
    assert len(hashes) == 4


def test_a_specification_is_rebuilt_from_its_source_and_from_a_pickle(bag: Spec) -> None:
    for again in (Spec.from_source(bag.source), pickle.loads(pickle.dumps(bag))):
        assert again.spec_hash == bag.spec_hash
        assert (
            explore(again, SearchOptions(check_deadlock=False)).generated
            == explore(bag, SearchOptions(check_deadlock=False)).generated
        )
    with pytest.raises(ValueError, match="not the source"):
        Spec.from_source("print(1)")


# ---- Arguments, and what is never enabled ----


def test_the_arguments_of_an_action_are_what_its_quantifiers_bind_enabled_or_not(bag: Spec) -> None:
    (start,) = bag.initial_states()
    nodes = {(n, k) for n in (N1, N2) for k in (N1, N2)}
    assert {tuple(args.values()) for args in bag.arguments(start, "Send")} == nodes
    assert list(bag.arguments(start, "Receive")) == []
    after = bag.step(start, "Send", {"n": N1, "k": N2})
    assert after is not None
    message = Fcn({"id": 0, "to": N2})
    assert {(args["n"], args["m"]) for args in bag.arguments(after, "Lose")} == {(N2, message)}


def test_every_enabled_step_has_its_arguments_among_those_of_its_action(bag: Spec) -> None:
    """Every step that is enabled in a state of the search has arguments from the domains of its action."""
    for state in explore(bag, SearchOptions(max_states=60)).states:
        for action, args in bag.enabled(state):
            assert args in list(bag.arguments(state, action)), action


INFINITE = [("Nat", 0), ("Int", 0), ("STRING", "a string")]


@pytest.mark.parametrize(("domain", "bound"), sampled(INFINITE, INFINITE[:1]))
def test_one_element_of_an_infinite_set_stands_for_all(domain: str, bound: object, tmp_path: Path) -> None:
    body = f"EXTENDS Integers\nVARIABLE x\nInit == x = 0\nGo == \\E k \\in {domain} : k # k /\\ x' = 1\nNext == Go"
    spec = load(tmp_path, body)
    (start,) = spec.initial_states()
    assert list(spec.arguments(start, "Go")) == [{"k": bound}]


NEVER = [
    "On /\\ x' = 1",
    "x' = 1 /\\ ~(~On)",
    "\\E k \\in Some : x' = k",
    "LET all == Some IN \\E k \\in all : x' = k",
    "IF On THEN x' = 1 ELSE FALSE",
    "(On /\\ x' = 1) \\/ (mode = 3 /\\ x' = 2)",
    'kind = "other" /\\ x\' = 1',
    "\\E k \\in {1, 2} : Allowed(k, On) /\\ x' = k",
    "~(mode = 2 \\/ x = 1) /\\ x' = 1",
]
PERHAPS = [
    "~On /\\ x' = 1",
    "x = 5 /\\ x' = 1",
    "x' = 1 /\\ (On => x = 5)",
    "\\E k \\in {1} \\ {x} : x' = k",
    "IF x = 0 THEN On /\\ x' = 1 ELSE x' = 2",
    "(On /\\ x' = 1) \\/ (x = 7 /\\ x' = 2)",
    "Deep(3) /\\ x' = 1",
    "mode = 2 /\\ x' = 1",
    "(\\A k \\in Some : On) /\\ x' = 1",
    "(\\A k \\in {1} : On) /\\ x' = 1",
]


def test_an_action_is_called_never_enabled_where_the_constants_say_so_and_nowhere_else(tmp_path: Path) -> None:
    actions = [f"Go{number} == {body}" for number, body in enumerate([*NEVER, *PERHAPS])]
    names = [each.split(" ")[0] for each in actions]
    preface = (
        "EXTENDS Naturals\nCONSTANTS On, mode, kind\nVARIABLE x\nInit == x = 0\n"
        "Some == IF On THEN {x} ELSE {}\nAllowed(k, allowed) == k > 0 /\\ allowed\n"
        "RECURSIVE Deep(_)\nDeep(k) == IF k = 0 THEN On ELSE Deep(k - 1)\n"
    )
    body = preface + "\n".join(actions) + "\nNext == " + " \\/ ".join(names)
    spec = load(tmp_path, body, 'CONSTANTS On = FALSE mode = 2 kind = "this"')
    assert spec.never == set(names[: len(NEVER)])
    (start,) = spec.initial_states()
    assert not spec.never & {action for action, _ in spec.enabled(start)}
    # The same actions with other constants, which make others false.
    (tmp_path / "on").mkdir()
    on = load(tmp_path / "on", body, 'CONSTANTS On = TRUE mode = 3 kind = "other"')
    assert on.never == {"Go9", "Go16"}
