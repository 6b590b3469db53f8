"""TLCGet and TLCSet: a search of the compiled spec prints the values that TLC prints with one worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.tla.explore import explore
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import CompileError
from lockstep.tla.values.kinds import TlaError
from lockstep.tlc import TlcOptions, run_tlc
from tests.support.sampling import sampled

HEAD = """EXTENDS Naturals, Sequences, TLC
VARIABLE x
Report(where) ==
    PrintT(<<where, x, TLCGet("level"), TLCGet("distinct"), TLCGet("queue"), TLCGet("diameter"), TLCGet(1)>>)
Counted == TLCGet(1) + 1
Count == TLCSet(1, Counted)
"""

#: Definitions, and the cfg besides INIT and NEXT: registers wherever TLC evaluates something.
SPECS = {
    "counters, wherever something is evaluated": (
        """ASSUME TLCSet(1, 0) /\\ PrintT(<<TLCGet("level"), TLCGet("distinct"), TLCGet("queue"), TLCGet("diameter")>>)
Init == x \\in {0, 10} /\\ Report("Init")
Add == x < 4 /\\ \\E d \\in {1, 2} : x' = x + d /\\ Count /\\ Report("Add")
Drop == x > 9 /\\ x' = x - 9 /\\ Report("Drop")
Next == Add \\/ Drop \\/ (x > 3 /\\ Report("stay") /\\ UNCHANGED x)
Inv == Report("Inv") /\\ Count
Con == Report("Con") /\\ x < 5 /\\ Count
ACon == Report("ACon") /\\ x' # 10""",
        "INVARIANT Inv\nCONSTRAINT Con\nACTION_CONSTRAINT ACon\n",
    ),
    "a register that decides what is enabled": (
        """ASSUME TLCSet(1, 0)
Init == x = 0
Next == \\/ TLCGet(1) < 5 /\\ Count /\\ x' = x + 1 /\\ Report("up")
        \\/ TLCGet(1) >= 3 /\\ x' = 0 /\\ Report("back")
        \\/ UNCHANGED x
Inv == TLCGet("level") < 9 /\\ Report("Inv")""",
        "INVARIANT Inv\n",
    ),
    "a register that is read late": (
        """ASSUME TLCSet(1, 0)
Init == x = 0
After(n) == Count /\\ x' = n
Next == \\/ x < 3 /\\ LET n == TLCGet(1) IN Count /\\ x' = n /\\ Report("let")
        \\/ x < 3 /\\ After(TLCGet(1) + 1) /\\ Report("argument")
        \\/ x >= 3 /\\ UNCHANGED x
Inv == LET seen == TLCGet(2) IN TLCSet(2, Append(IF x = 0 THEN <<>> ELSE seen, x)) /\\ PrintT(TLCGet(2))""",
        "INVARIANT Inv\nCONSTRAINT Few\n",
    ),
    "values, and quantifiers in TLC's order": (
        """ASSUME TLCSet(1, 0) /\\ TLCSet(7, [a |-> {1, 2}])
Init == x \\in {{"b"}, {"a", "b"}}
Next == \\E s \\in {"c", "b", "a"} : x' = (x \\cup {s}) \\ {"d"} /\\ Count /\\ PrintT(<<s, TLCGet(1), TLCGet(7).a>>)
Inv == \\A s \\in {"c", "a", "b"} : TLCSet(1, TLCGet(1) + 1) /\\ PrintT(<<s, TLCGet(1)>>)""",
        "INVARIANT Inv\n",
    ),
}
HELD = r"""ASSUME TLCSet(1, 0)
Init == x = 0
Got == TLCGet(1)
"""

#: Where a name stands for TLCGet(1): definitions, the next-state relation, and TLC's counts (distinct, generated,
#: depth). TLC computes a LET of an action anew at each use, an argument once for all uses, and a LET of a value when it
#: is first used.
NAMES = {
    "a LET of an action": ("", r"LET old == TLCGet(1) IN TLCSet(1, old + 1) /\ x' = old /\ TLCGet(1) < 6", (6, 6, 6)),
    "a LET of a LET": ("", r"LET old == Got n == old + 1 IN TLCSet(1, n) /\ x' = n /\ TLCGet(1) < 6", (6, 6, 6)),
    "a LET with a quantifier within": (
        "",
        r"LET old == TLCGet(1) IN \E i \in {old, old + 1} : TLCSet(1, i + 1) /\ x' = old /\ Got < 6",
        (6, 6, 3),
    ),
    "a LET that is a function": (
        "",
        r"LET f == [i \in {0, 1} |-> Got] IN TLCSet(1, f[0] + 1) /\ x' = f[0] /\ TLCGet(1) < 6",
        (6, 6, 6),
    ),
    "a LET of several actions": (
        "A(n) == n < 6 /\\ TLCSet(1, n + 1) /\\ x' = n\nB(n) == x' = n /\\ x < n",
        r"LET old == TLCGet(1) IN A(old) \/ B(old)",
        (7, 13, 7),
    ),
    "a LET of a value": (
        "",
        r"(LET old == TLCGet(1) IN TLCSet(1, old + 1) /\ Got = old + 1 /\ old < 6) = TRUE /\ x' = Got",
        (7, 7, 7),
    ),
    "a LET of a value, used late": (
        "",
        r"(LET old == TLCGet(1) IN TLCSet(1, Got + 1) /\ old = Got /\ old < 6) = TRUE /\ x' = Got",
        (6, 6, 6),
    ),
    "an argument": ("After(n) == TLCSet(1, n + 1) /\\ x' = n /\\ TLCGet(1) < 6", "After(TLCGet(1))", (1, 2, 1)),
    "an argument that is a LET": ("", "LET old == Got IN After(old)", (1, 2, 1)),
    "an argument, used late": ("Late(n) == TLCSet(1, Got + 1) /\\ x' = n /\\ n < 6", "Late(Got)", (6, 6, 6)),
    "an argument of an argument": (
        "Set(n) == LET q == n IN TLCSet(1, q + 1) /\\ x' = q /\\ Got < 6\nPassed(n) == Set(n)",
        "Passed(TLCGet(1))",
        (1, 2, 1),
    ),
}
#: Names that TLC confirms in every run; it confirms the others at night.
CONFIRMED = ("a LET of several actions",)
CONSTRAINT = "Few == x < 6\n"
#: Parameters of every run; the others are for the night.
SAMPLE = ("counters, wherever something is evaluated",)


def write(folder: Path, definitions: str, cfg: str) -> tuple[Path, Path]:
    text = f"---- MODULE Registers ----\n{HEAD}{CONSTRAINT}{definitions}\n====\n"
    (folder / "Registers.tla").write_text(text)
    (folder / "Registers.cfg").write_text(f"INIT Init\nNEXT Next\n{cfg}")
    return folder / "Registers.tla", folder / "Registers.cfg"


@pytest.mark.parametrize("name", sampled(SPECS, SAMPLE))
def test_a_search_prints_what_tlc_prints(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = write(tmp_path, *SPECS[name])
    by_tlc = run_tlc(*files, TlcOptions(is_short=True, deadlock_check=False))
    assert by_tlc.error is None, by_tlc.reason
    printed = [" ".join(line.split()) for line in by_tlc.user_output if not line.startswith("Computing")]
    spec = load_spec(*files, cache_dir=tmp_path / "cache")
    capfd.readouterr()
    found = explore(spec, SearchOptions(check_deadlock=False))
    assert capfd.readouterr().err.splitlines() == printed
    assert len(printed) > 7
    assert (found.distinct, found.generated) == (by_tlc.distinct, by_tlc.generated)
    again = explore(spec, SearchOptions(check_deadlock=False))
    assert capfd.readouterr().err.splitlines() == printed
    assert again.states == found.states


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """The module with a next-state relation for each of NAMES, and their cfgs."""
    folder = tmp_path_factory.mktemp("names")
    text = "".join(f"{each}\nNext{number} == {step}\n" for number, (each, step, _) in enumerate(NAMES.values()))
    module, _ = write(folder, HELD + text, "")
    cfgs = [folder / f"Next{number}.cfg" for number in range(len(NAMES))]
    for cfg in cfgs:
        cfg.write_text(f"INIT Init\nNEXT {cfg.stem}\n")
    return {name: (module, cfg) for name, cfg in zip(NAMES, cfgs, strict=True)}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_a_register_is_computed_when_tlc_computes_it(name: str, names: dict[str, tuple[Path, Path]]) -> None:
    module, cfg = names[name]
    spec = load_spec(module, cfg, cache_dir=module.parent / "cache")
    found = explore(spec, SearchOptions(check_deadlock=False))
    assert (found.distinct, found.generated, found.depth) == NAMES[name][2]


@pytest.mark.parametrize("name", sampled(NAMES, CONFIRMED))
def test_the_counts_with_names_of_registers_are_those_of_tlc(name: str, names: dict[str, tuple[Path, Path]]) -> None:
    found = run_tlc(*names[name], TlcOptions(is_short=True, deadlock_check=False))
    assert (found.distinct, found.generated, found.depth) == NAMES[name][2]


def test_a_register_has_no_meaning_outside_a_search(tmp_path: Path) -> None:
    spec = load_spec(*write(tmp_path, *SPECS["a register that decides what is enabled"]), cache_dir=tmp_path / "cache")
    state = next(spec.initial_states())
    with pytest.raises(TlaError, match=r"TLCGet\(1\) has a value only in a search of all states"):
        list(spec.successors(state))
    with pytest.raises(TlaError, match=r'TLCGet\("level"\) has a value only in a search'):
        spec.invariants["Inv"](state)
    with pytest.raises(TlaError, match=r"TLCSet\(1, \.\.\.\) has an effect only in a search"):
        spec.false_assumptions()


REFUSED = {
    'TLCGet("duration")': r'Registers.tla:13: TLCGet\("duration"\) is not supported; there are numbered registers,',
    'TLCGet("generated")': r"is not supported",
    'TLCSet("exit", TRUE)': r'TLCSet\("exit"\) is not supported; there are numbered registers$',
}


@pytest.mark.parametrize(("expression", "said"), REFUSED.items(), ids=list(REFUSED))
def test_a_register_that_is_no_function_of_the_search_is_refused_by_its_place(
    expression: str, said: str, tmp_path: Path
) -> None:
    definitions = f"Init == x = 0\nNext == UNCHANGED x\nInv ==\n  /\\ TRUE\n  /\\ {expression} = 1"
    with pytest.raises(CompileError, match=said):
        load_spec(*write(tmp_path, definitions, "INVARIANT Inv\n"), cache_dir=tmp_path / "cache")


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("TLCGet(3) = 1", r"TLCGet\(3\) is asked for before TLCSet gave it a value"),
        ("TLCSet(0 - 1, 1)", r"needs a natural number for its register, but was given -1"),
        ('TLCGet("lev" \\o "els") = 1', r'TLCGet\("levels"\) is not supported'),
    ],
)
def test_a_register_of_no_value_or_no_number_is_an_error(expression: str, said: str, tmp_path: Path) -> None:
    definitions = f"Init == x = 0\nNext == UNCHANGED x\nInv == {expression}"
    spec = load_spec(*write(tmp_path, definitions, "INVARIANT Inv\n"), cache_dir=tmp_path / "cache")
    with pytest.raises(TlaError, match=said):
        explore(spec)
