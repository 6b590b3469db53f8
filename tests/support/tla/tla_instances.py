"""Modules that instance one another, made up by a seed: shared names, parameters, LET, RECURSIVE, LAMBDA.

The root names some expressions over the instances; their values, in a state and of a step, come from TLC.
"""

from __future__ import annotations

import re
import resource
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random

from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import TlaError
from lockstep.tlc.java import find_tla2tools

#: A bound, so that numbers stay small.
MODULUS = 7
DEEP = 3


class Maker:
    """Makes up a chain of modules: L0 instances no other, and each further one instances those below it."""

    def __init__(self, seed: int, levels: int = 3) -> None:
        """Make the modules L0 .. and the root."""
        self.random = Random(seed)
        self.bound_count = 0
        self.texts: dict[str, str] = {}
        #: Operators without and with an argument, and actions of each module, as another module names them.
        self.public: list[dict[str, list[str]]] = []
        for level in range(levels):
            self.texts[f"L{level}"] = self.module(level)
        self.count = 12
        self.texts["Root"] = self.root(levels)

    def one_of(self, choices: list[str]) -> str:
        return self.random.choice(choices)

    # ---- Expressions: all are integers ----

    def number(self, names: dict[str, list[str]], depth: int) -> str:
        """An expression: `names` has "atom", "unary" (operators of one argument) and "higher" ones."""
        if depth == 0 or self.random.random() < 0.2:
            return self.one_of([*names["atom"], *names["atom"], "0", "1", "2"])
        made: list[Callable[[], str]] = [
            lambda: f"(({self.number(names, depth - 1)} + {self.number(names, depth - 1)}) % {MODULUS})",
            lambda: (
                f"(IF {self.number(names, depth - 1)} < {self.number(names, depth - 1)} "
                f"THEN {self.number(names, depth - 1)} ELSE {self.number(names, depth - 1)})"
            ),
            lambda: self.let(names, depth),
            lambda: self.table(names, depth),
            lambda: self.cardinality(names, depth),
        ]
        if names["unary"]:
            made += [lambda: f"{self.one_of(names['unary'])[:-3]}({self.number(names, depth - 1)})"] * 2
            made.append(lambda: f"Twice({self.one_of(names['unary'])[:-3]}, {self.number(names, depth - 1)})")
        if names["family"]:
            made += [lambda: self.of_family(names, depth)] * 3
        made.append(lambda: self.twice(names, depth))
        return self.random.choice(made)()

    def bound(self, letter: str) -> str:
        """A name that nothing around it has: SANY refuses a bound name that is taken."""
        self.bound_count += 1
        return f"{letter}{self.bound_count}"

    def table(self, names: dict[str, list[str]], depth: int) -> str:
        k = self.bound("k")
        body = self.number(self.with_atom(names, k), depth - 1)
        return f"[{k} \\in 0..{MODULUS} |-> {body}][{self.number(names, depth - 1)} % {MODULUS}]"

    def cardinality(self, names: dict[str, list[str]], depth: int) -> str:
        j = self.bound("j")
        return f"Cardinality({{{j} \\in 0..3 : {j} < {self.number(self.with_atom(names, j), depth - 1)}}})"

    def twice(self, names: dict[str, list[str]], depth: int) -> str:
        t = self.bound("t")
        body = self.number(self.with_atom(names, t), depth - 1)
        return f"Twice(LAMBDA {t} : {body}, {self.number(names, depth - 1)})"

    def of_family(self, names: dict[str, list[str]], depth: int) -> str:
        """Return an application of an operator of an INSTANCE with a parameter: `J(p)!Op(a)`."""
        instance, _, name = self.one_of(names["family"]).partition("|")
        parameter = self.number(names, depth - 1)
        argument = f"({self.number(names, depth - 1)})" if name.endswith("(_)") else ""
        return f"{instance}({parameter})!{name.removesuffix('(_)')}{argument}"

    def let(self, names: dict[str, list[str]], depth: int) -> str:
        y = self.bound("y")
        inner = self.with_atom(names, y)
        value, body = self.number(names, depth - 1), self.number(inner, depth - 1)
        if self.random.random() < 0.5:
            return f"(LET {y} == {value} IN {body})"
        local, q = self.bound("Loc"), self.bound("q")
        defined = self.number(self.with_atom(inner, q), depth - 1)
        within = {**inner, "unary": [*inner["unary"], f"{local}(_)"]}
        return f"(LET {y} == {value} {local}({q}) == {defined} IN {self.number(within, depth - 1)})"

    @staticmethod
    def with_atom(names: dict[str, list[str]], atom: str) -> dict[str, list[str]]:
        return {**names, "atom": [*names["atom"], atom, atom]}

    # ---- Modules ----

    def module(self, level: int) -> str:
        """Return a module with a constant, a variable, and operators that have the same names on every level."""
        lines = [f"---- MODULE L{level} ----", "EXTENDS Integers, FiniteSets", "CONSTANT c", "VARIABLES v, w"]
        lines.append("Twice(F(_), a) == F(F(a))")
        names: dict[str, list[str]] = {"atom": ["c", "v", "w"], "unary": [], "family": [], "action": []}
        blocks = [self.value, self.operator, self.recursive, self.action]
        if level:
            blocks += [self.instance, self.family, self.instance]
        self.random.shuffle(blocks)
        for block in blocks:
            lines += block(names, level)
        self.public.append(names)
        return "\n".join([*lines, "===="])

    def value(self, names: dict[str, list[str]], level: int) -> list[str]:
        made = f"Val == {self.number(names, DEEP)}"
        names["atom"].append("Val")
        return [made]

    def operator(self, names: dict[str, list[str]], level: int) -> list[str]:
        made = f"Op(a) == {self.number(self.with_atom(names, 'a'), DEEP)}"
        names["unary"].append("Op(_)")
        return [made]

    def recursive(self, names: dict[str, list[str]], level: int) -> list[str]:
        inner, z = self.with_atom(names, "n"), self.bound("z")
        made = (
            f"Rec(n) == IF n <= 0 THEN {self.number(inner, 1)} ELSE LET {z} == {self.number(inner, 1)} "
            f"IN ({z} + Rec(n - 1)) % {MODULUS}"
        )
        names["unary"].append("Rec(_)")
        return ["RECURSIVE Rec(_)", made]

    def action(self, names: dict[str, list[str]], level: int) -> list[str]:
        made = [f"Step == v' = {self.number(names, 2)}", f"Sets(a) == a' = {self.number(names, 1)}", "Moves == Sets(v)"]
        names["action"] += ["Step", "Moves"]
        return made

    def instance(self, names: dict[str, list[str]], level: int) -> list[str]:
        """`I == INSTANCE L WITH ...`: what it brings in, on all levels below, is there by name."""
        name, below = self.fresh(names), self.random.randrange(level)
        line = f"{name} == INSTANCE L{below} WITH {self.substitutions(names, names)}"
        for kind in ("unary", "action"):
            names[kind] += [f"{name}!{each}" for each in self.public[below][kind]]
        names["atom"] += [f"{name}!{each}" for each in self.public[below]["atom"] if each not in ("c", "v", "w")]
        return [line]

    def family(self, names: dict[str, list[str]], level: int) -> list[str]:
        """`J(p) == INSTANCE L WITH c <- ... p ...`."""
        name, below = self.fresh(names), self.random.randrange(level)
        inner = self.with_atom(names, "p")
        line = f"{name}(p) == INSTANCE L{below} WITH {self.substitutions(names, inner)}"
        public = self.public[below]
        found = [each for each in (*public["atom"], *public["unary"]) if each not in ("c", "v", "w")]
        names["family"] += [f"{name}|{each}" for each in found]
        return [line]

    def fresh(self, names: dict[str, list[str]]) -> str:
        taken = {each.partition("!")[0] for each in (*names["atom"], *names["unary"])}
        taken |= {each.partition("|")[0] for each in names["family"]}
        return next(name for name in ("I", "J", "K", "M") if name not in taken)

    def substitutions(self, names: dict[str, list[str]], inner: dict[str, list[str]]) -> str:
        return f"c <- {self.constant()}, v <- {self.variable(names)}, w <- {self.number(inner, 2)}"

    def constant(self) -> str:
        return self.one_of(["c", "1", "(c + 1)", "2"])

    def variable(self, names: dict[str, list[str]]) -> str:
        return self.one_of(["v", "v", f"((v + 1) % {MODULUS})"])

    def root(self, levels: int) -> str:
        lines = ["---- MODULE Root ----", "EXTENDS Integers, FiniteSets, TLC", "CONSTANT c", "VARIABLES v, w"]
        lines.append("Twice(F(_), a) == F(F(a))")
        names: dict[str, list[str]] = {"atom": ["c", "v", "w"], "unary": [], "family": [], "action": []}
        for block in (self.instance, self.family, self.value, self.instance, self.operator):
            lines += block(names, levels)
        lines += [f"E{index} == {self.number(names, DEEP)}" for index in range(self.count)]
        self.actions = [each for each in names["action"] if "!" in each]
        lines += [f"A{index} == {each}" for index, each in enumerate(self.actions)]
        shown = [f'PrintT(<<"E{index}", E{index}>>)' for index in range(self.count)]
        taken = [f'PrintT(<<"A{index}", A{index}>>)' for index in range(len(self.actions))]
        lines += ["Init == /\\ v = 2 /\\ w = 1", *(f"        /\\ {each}" for each in shown)]
        lines += ["Next == /\\ v = 2 /\\ v' = 3 /\\ w' = w", *(f"        /\\ {each}" for each in taken)]
        return "\n".join([*lines, "===="])

    def write(self, folder: Path) -> Path:
        """Write the modules and the cfg; return the root's file."""
        for name, text in self.texts.items():
            (folder / f"{name}.tla").write_text(text + "\n")
        (folder / "Root.cfg").write_text("CONSTANT c = 3\nINIT Init\nNEXT Next\n")
        return folder / "Root.tla"


#: Limit of TLC's processor time for a spec: it evaluates an argument anew wherever it is used.
SECONDS = 60


class TooLongError(Exception):
    """TLC ran out of time."""


def values_by_tlc(root: Path) -> dict[str, str]:
    """The values that TLC prints of each expression and action; one that it cannot evaluate ends the run.

    Raises TooLongError where its time is up.
    """
    command = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Djava.io.tmpdir={root.parent}"]
    command += ["-cp", str(find_tla2tools()), "tlc2.TLC", "-deadlock", root.name]
    done = subprocess.run(
        command, cwd=root.parent, capture_output=True, text=True, timeout=1200, check=False, preexec_fn=_limit_time
    )
    if done.returncode == -signal.SIGXCPU:
        raise TooLongError(f"{root}: TLC took more than {SECONDS} s")
    return dict(re.findall(r'^<<"([EA]\d+)", (.*)>>$', done.stdout, re.M))


def _limit_time() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 10))


def values_by_search(root: Path, maker: Maker) -> dict[str, str]:
    """Return the values of the compiled spec, in TLC's order, up to the first expression without a value."""
    spec: Spec = load_spec(root, root.with_suffix(".cfg"), cache_dir=root.parent / "cache")
    before, after = spec.state({"v": 2, "w": 1}), spec.state({"v": 3, "w": 1})
    found: dict[str, str] = {}
    names = [f"E{index}" for index in range(maker.count)] + [f"A{index}" for index in range(len(maker.actions))]
    for name in names:
        try:
            value = spec.evaluate(name, before, after=after)
        except TlaError:
            break
        found[name] = str(value).upper() if isinstance(value, bool) else str(value)
    return found
