"""TLC's configuration files are read whole, or refused with file and line."""

from __future__ import annotations

import pytest

from lockstep.tla.syntax.cfg import CfgError, parse_cfg
from lockstep.tla.values.kinds import ModelValue


def test_every_statement_is_read() -> None:
    cfg = parse_cfg(
        """
        \\* A comment.
        CONSTANTS
          N = -3 (* a (* nested *)
          comment *) Node = {n1, n2} Text = "a b" Flag = TRUE Empty = {}
          Sets = {{1, 2}, {}}
          Op <- Other  Inner <- [Mod]Outer  None = [Mod]nothing
        CONSTANT nil = nil
        SPECIFICATION Spec
        INVARIANTS A B
        INVARIANT C
        PROPERTY P PROPERTIES Q
        CONSTRAINT K ACTION_CONSTRAINT L
        SYMMETRY S VIEW V
        ALIAS Shown POSTCONDITION Seen
        CHECK_DEADLOCK FALSE
        """
    )
    n1, n2 = ModelValue("n1"), ModelValue("n2")
    assert cfg.constants == {
        "N": -3,
        "Node": frozenset({n1, n2}),
        "Text": "a b",
        "Flag": True,
        "Empty": frozenset(),
        "Sets": frozenset({frozenset({1, 2}), frozenset()}),
        "nil": ModelValue("nil"),
    }
    assert cfg.substitutions == {"Op": "Other"}
    assert cfg.module_substitutions == {("Mod", "Inner"): "Outer"}
    assert cfg.module_constants == {("Mod", "None"): ModelValue("nothing")}
    assert (cfg.specification, cfg.symmetry, cfg.view, cfg.check_deadlock) == ("Spec", "S", "V", False)
    assert (cfg.alias, cfg.postcondition) == ("Shown", "Seen")
    assert (cfg.invariants, cfg.properties) == (["A", "B", "C"], ["P", "Q"])
    assert (cfg.constraints, cfg.action_constraints) == (["K"], ["L"])


def test_init_and_next_are_read() -> None:
    cfg = parse_cfg("INIT I NEXT N")
    assert (cfg.init, cfg.next, cfg.check_deadlock) == ("I", "N", True)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("INIT Init\nALIASES Foo", 2, "ALIASES"),
        ("CONSTANT\n  N = ", 2, "ends"),
        ("CONSTANT\n\n  N = INIT", 3, "INIT"),
        ("CONSTANT N = {1,\n TRUE}", 1, "compared"),
        ("CONSTANT N 3", 1, "expected"),
        ("INIT I\nCONSTANT N = 3000000000", 2, "more than 32 bits"),
        ("CONSTANT\n N = {1,\n -2147483649}", 3, "more than 32 bits"),
        ("CONSTANT N = 1\nCONSTANT N = 2", 2, "twice"),
        ("CONSTANT N = [M]1\nN <- [M]B", 2, "twice"),
        ("INIT A\nINIT B", 2, "second"),
        ("INVARIANT A\n;", 2, ";"),
        ("\n(* open", 2, "does not end"),
        ("CHECK_DEADLOCK\nmaybe", 2, "maybe"),
    ],
)
def test_unknown_statements_are_refused_with_file_and_line(text: str, line: int, said: str) -> None:
    with pytest.raises(CfgError, match=rf"^model\.cfg:{line}:\d+: LS602 ") as caught:
        parse_cfg(text, "model.cfg")
    assert said in str(caught.value)


def test_a_missing_comma_between_elements_of_a_set_is_named() -> None:
    with pytest.raises(CfgError, match=r"expected ',', found 'b'; commas stand between the elements of a set"):
        parse_cfg("CONSTANT Client = {a b}\n", "My.cfg")
