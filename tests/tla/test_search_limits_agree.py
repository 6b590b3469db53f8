"""Both engines agree where a search ends at an edge of the model: on counts, depth, verdict and what is violated.

At the edge: a violation that closes a circle, lies outside a CONSTRAINT, or in a state that VIEW or SYMMETRY takes for
a known one; an initial state that violates several things; no state at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.models.search_result import Engine, SearchResult, SpecFiles
from lockstep.models.spec_search import explore_spec
from lockstep.tla.search_options import SearchOptions
from tests.support.sampling import sampled


@dataclass(frozen=True)
class Edge:
    """A small spec and its cfg; `found` is what is violated, "nothing" if all holds, "" if nothing was checked."""

    name: str
    body: str
    cfg: str
    found: str
    deadlock: bool = True


_COUNTER = "EXTENDS Integers\nVARIABLE x\nInit == x = 0\n"
_CIRCLE = _COUNTER + "Next == x' = (x + 1) % 5\n"
_LINE = _COUNTER + "Next == x < 6 /\\ x' = x + 1\n"
_BACK = _COUNTER + "Next == IF x < 3 THEN x' = x + 1 ELSE x' \\in {0, 9}\n"
_PAIR = """EXTENDS Integers
VARIABLES s, t
Init == s = 0 /\\ t \\in {"a", "b"}
Next == \\/ s < 3 /\\ s' = s + 1 /\\ t' = t
        \\/ s = 3 /\\ s' = s /\\ t' \\in {"a", "b"}
Seen == s
Keeps == [][t' = t]_<<s, t>>
NotB == ~(s = 3 /\\ t = "b")
"""
_NODES = """EXTENDS Integers, TLC
CONSTANT A
VARIABLES x, y
Init == x \\in A /\\ y = x
Next == \\/ x' \\in (A \\ {x}) /\\ y' = x
        \\/ \\E a \\in A : a = y /\\ y' = a /\\ x' \\in A
Same == Permutations(A)
Left == x = y
Moves == [][x # y => x' # y']_<<x, y>>
"""
_TWO = _LINE.replace("x = 0", "x \\in {0, 7}")
_START = "INIT Init\nNEXT Next\n"

EDGES = (
    Edge("a step back to a known state", _CIRCLE + "Up == [][x' > x]_x\n", _START + "PROPERTY Up\n", "Up"),
    Edge(
        "a step back to the initial state, which is the only one",
        _COUNTER + "Next == x' = 0 /\\ x >= 0\nUp == [][x' > x \\/ x # 0]_x\nNever == [][FALSE]_<<>>\n",
        _START + "PROPERTY Up\n",
        "nothing",
    ),
    Edge(
        "a step into a known state of a level before",
        _BACK + "Up == [][x' > x]_x\n",
        _START + "PROPERTY Up\n",
        "Up",
        deadlock=False,
    ),
    Edge(
        "a temporal property and a step property that fails",
        _CIRCLE + "Spec == Init /\\ [][Next]_x /\\ WF_x(Next)\nQ == []<>(x = 1)\nUp == [][x' = x + 1]_x\n",
        "SPECIFICATION Spec\nPROPERTY Q Up\n",
        "Up",
    ),
    Edge(
        "an invariant of a state outside the CONSTRAINT",
        _LINE + "Few == x < 3\nInv == x < 3\n",
        _START + "CONSTRAINT Few\nINVARIANT Inv\n",
        "Inv",
    ),
    Edge(
        "a step property of a step outside the CONSTRAINT",
        _LINE + "Few == x < 3\nLow == [][x' < 3]_x\n",
        _START + "CONSTRAINT Few\nPROPERTY Low\n",
        "Low",
    ),
    Edge(
        "an invariant of a state outside the ACTION_CONSTRAINT",
        _LINE + "Few == x' < 3\nInv == x < 3\n",
        _START + "ACTION_CONSTRAINT Few\nINVARIANT Inv\n",
        "Inv",
    ),
    Edge(
        "a deadlock of a state whose level has others",
        _COUNTER + "Next == x < 4 /\\ x' \\in {x + 1, 9}\nFew == x # 3\n",
        _START + "CONSTRAINT Few\n",
        "deadlock",
    ),
    Edge(
        "a deadlock that lies outside the CONSTRAINT",
        _COUNTER + "Next == x < 4 /\\ x' = x + 1\nFew == x < 3\n",
        _START + "CONSTRAINT Few\n",
        "nothing",
    ),
    Edge("a step that a VIEW takes for none", _PAIR, _START + "VIEW Seen\nPROPERTY Keeps\n", "Keeps"),
    Edge(
        "an invariant of a state that a VIEW takes for another",
        _PAIR,
        _START + "VIEW Seen\nINVARIANT NotB\n",
        "nothing",
    ),
    Edge(
        "an invariant of a state that a VIEW takes for another, outside the CONSTRAINT",
        _PAIR + 'Few == ~(s = 3 /\\ t = "b")\n',
        _START + "VIEW Seen\nINVARIANT NotB\nCONSTRAINT Few\n",
        "NotB",
    ),
    Edge(
        "an invariant of a state that a VIEW takes for another, outside the ACTION_CONSTRAINT",
        _PAIR + "Few == t' = t\n",
        _START + "VIEW Seen\nINVARIANT NotB\nACTION_CONSTRAINT Few\n",
        "NotB",
    ),
    Edge(
        "a step between states that SYMMETRY takes for known ones",
        _NODES,
        "CONSTANT A = {m1, m2, m3}\nSYMMETRY Same\nPROPERTY Moves\n" + _START,
        "Moves",
    ),
    Edge(
        "SYMMETRY with a CONSTRAINT",
        _NODES,
        "CONSTANT A = {m1, m2, m3}\nSYMMETRY Same\nCONSTRAINT Left\nINVARIANT Left\n" + _START,
        "Left",
    ),
    Edge(
        "SYMMETRY with a VIEW and a step property",
        _NODES + "Seen == x\n",
        "CONSTANT A = {m1, m2, m3}\nSYMMETRY Same\nVIEW Seen\nPROPERTY Moves\n" + _START,
        "nothing",
    ),
    Edge(
        "an initial state that violates an invariant and an initial property",
        _TWO + "First == x < 7\nInv == x < 3\n",
        _START + "PROPERTY First\nINVARIANT Inv\n",
        "Inv",
    ),
    Edge(
        "an initial state that violates two properties, one of every state",
        _TWO + "First == x < 7\nQ == [](x < 3)\n",
        _START + "PROPERTY First Q\n",
        "Q",
    ),
    Edge(
        "a step against a part of a property, which TLC names by its line",
        _CIRCLE + "Up == x = 0 /\\ [][x' > x]_x\n",
        _START + "PROPERTY Up\n",
        "Up",
    ),
    Edge(
        "an initial state that violates a part of a property, which TLC names by its line",
        _TWO + "First == x < 7 /\\ [][x' > x]_x\n",
        _START + "PROPERTY First\n",
        "First",
    ),
    Edge(
        "an initial state that violates an initial property alone",
        _TWO + "First == x < 7\nInv == x < 8\n",
        _START + "PROPERTY First\nINVARIANT Inv\n",
        "First",
    ),
    Edge(
        "an initial state that violates an initial property outside the CONSTRAINT",
        _TWO + "First == x < 7\nFew == x < 4\n",
        _START + "PROPERTY First\nCONSTRAINT Few\n",
        "First",
    ),
    Edge(
        "an initial state that is there twice",
        "EXTENDS Integers\nVARIABLE x\nInit == x = 0 \\/ x = 0\nNext == x' = 1 - x\nFirst == x = 0\n",
        _START + "PROPERTY First\n",
        "nothing",
    ),
    Edge(
        "an initial state that violates an invariant outside the CONSTRAINT, alone",
        _LINE + "Few == x > 5\nInv == x # 0\n",
        _START + "CONSTRAINT Few\nINVARIANT Inv\n",
        "Inv",
    ),
    Edge("an Init that is false", _COUNTER.replace("x = 0", "x = 0 /\\ x = 1") + "Next == x' = 1 - x\n", _START, ""),
    Edge(
        "an Init that is false, and a temporal property",
        _COUNTER.replace("x = 0", "x = 0 /\\ x = 1") + "Next == x' = 1 - x\nArrives == <>(x = 5)\n",
        _START + "PROPERTY Arrives\n",
        "",
    ),
    Edge("a CONSTRAINT that no initial state fits", _LINE + "Few == x > 5\n", _START + "CONSTRAINT Few\n", ""),
)
#: Compared in every run: a step and an initial state.
OFTEN = tuple(
    each
    for each in EDGES
    if each.name
    in (
        "an invariant of a state that a VIEW takes for another, outside the CONSTRAINT",
        "an initial state that violates an invariant and an initial property",
    )
)


def written(edge: Edge, folder: Path) -> tuple[Path, Path]:
    (folder / "M.tla").write_text(f"---- MODULE M ----\n{edge.body}====\n")
    (folder / "M.cfg").write_text(edge.cfg)
    return folder / "M.tla", folder / "M.cfg"


def result(found: SearchResult) -> tuple[object, ...]:
    steps = None if found.counterexample is None else len(found.counterexample.steps)
    return found.verdict, found.reason, found.property, steps


def counted(found: SearchResult) -> tuple[int | None, ...]:
    return found.distinct, found.generated, found.depth


@pytest.mark.parametrize("edge", sampled(EDGES, OFTEN), ids=lambda each: each.name)
def test_both_engines_report_the_same_of_a_search_at_an_edge(edge: Edge, tmp_path: Path) -> None:
    tlc = explore_spec(SpecFiles(*written(edge, tmp_path)), Engine.TLC, SearchOptions(check_deadlock=edge.deadlock))
    compiled = explore_spec(
        SpecFiles(*written(edge, tmp_path)), Engine.COMPILED, SearchOptions(check_deadlock=edge.deadlock)
    )
    assert result(compiled) == result(tlc)
    # TLC counts nothing where it stops at an initial state.
    assert counted(tlc) == ((None, None, None) if "initial state that violates" in edge.name else counted(compiled))


@pytest.mark.parametrize("edge", sampled(EDGES, EDGES[::3]), ids=lambda each: each.name)
def test_the_compiled_search_finds_what_the_table_names(edge: Edge, tmp_path: Path) -> None:
    found = explore_spec(
        SpecFiles(*written(edge, tmp_path)), Engine.COMPILED, SearchOptions(check_deadlock=edge.deadlock)
    )
    verdicts = {"nothing": Verdict.HOLDS, "": Verdict.INCONCLUSIVE}
    assert found.verdict is verdicts.get(edge.found, Verdict.VIOLATED), found.reason
    assert found.property == (None if edge.found in verdicts else edge.found)
    assert (found.distinct == 0) == (edge.found == "" or "outside the CONSTRAINT, alone" in edge.name)
