"""What specs of other people have: each of these small ones has the counts, the depth and the verdict of TLC."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from lockstep.tla.explore import explore
from lockstep.tla.loading.load import load_spec
from lockstep.tlc import TlcOptions, run_tlc


@dataclass(frozen=True)
class Project:
    """A spec: its root module's body, its configuration, the bodies of further modules, and what is violated."""

    body: str
    cfg: str
    others: tuple[tuple[str, str], ...] = ()
    violated: str = ""

    def write(self, folder: Path) -> tuple[Path, Path]:
        for name, body in (("Root", self.body), *self.others):
            (folder / f"{name}.tla").write_text(f"---- MODULE {name} ----\n{body}\n====\n", encoding="utf-8")
        (folder / "Root.cfg").write_text(self.cfg, encoding="utf-8")
        return folder / "Root.tla", folder / "Root.cfg"


FACTS = """EXTENDS Naturals
CONSTANT K
ASSUME Big == K > 1
THEOREM Sum == K + 1 > 2
THEOREM Grows == ASSUME NEW n \\in Nat PROVE n + K >= n
"""
COUNTING = """EXTENDS Naturals
CONSTANT K, F(_)
VARIABLE y
RECURSIVE Fac(_)
Fac(n) == LET m == n - K
              RECURSIVE Count(_)
              Count(i) == IF i = 0 THEN 0 ELSE Count(i - K) + y
          IN  IF n = 0 THEN 1 ELSE n * Fac(m) + Count(0)
Up(v) == v' = F(v)
Same(v) == v' = v
Changes(v) == v' # v
Step == y < 3 /\\ Up(y)
Good == y <= Fac(3)
"""

PROJECTS = {
    "a named ASSUME and a named THEOREM as expressions": Project(
        """EXTENDS Naturals
CONSTANT N
VARIABLE x
ASSUME Positive == N > 0
THEOREM More == N + 1 > 0
Facts == INSTANCE Facts WITH K <- N
THEOREM Later == x < 2
THEOREM [](Later)
Init == x = 0
Next == x' = (x + 1) % 3
Inv == Positive /\\ More /\\ Facts!Big /\\ Facts!Sum
Low == Inv => Later
""",
        "CONSTANT N = 3\nINIT Init\nNEXT Next\nINVARIANTS Inv Low\n",
        (("Facts", FACTS),),
        "Low",
    ),
    "RECURSIVE with LET beneath a substitution, and operators that prime their argument": Project(
        """EXTENDS Naturals
VARIABLES x, z
Inc(a) == a + 1
I == INSTANCE Counting WITH K <- 1, y <- x, F <- Inc
J(by) == INSTANCE Counting WITH K <- by, y <- z, F <- Inc
Init == x = 0 /\\ z = 0
Next == \\/ I!Step /\\ J(1)!Same(z)
        \\/ J(1)!Step /\\ I!Same(x)
        \\/ \\E k \\in 1..2 : J(k)!Up(z) /\\ z < 2 /\\ J(k)!Same(x)
        \\/ x = 3 /\\ z = 3 /\\ UNCHANGED <<x, z>>
Inv == I!Good /\\ I!Fac(3) = 6 /\\ J(1)!Good
Prop == [][x' # x \\/ J(1)!Changes(z)]_<<x, z>>
""",
        "INIT Init\nNEXT Next\nINVARIANT Inv\nPROPERTY Prop\n",
        (("Counting", COUNTING),),
    ),
}


@pytest.mark.parametrize("name", PROJECTS)
def test_a_small_spec_has_the_counts_and_the_verdict_of_tlc(name: str, tmp_path: Path) -> None:
    project = PROJECTS[name]
    module, cfg = project.write(tmp_path)
    found = explore(load_spec(module, cfg, cache_dir=tmp_path / "cache"))
    result = run_tlc(module, cfg, TlcOptions(deadlock_check=True, is_short=True))
    violated = (found.violation and found.violation.label, result.violation and result.violation.label)
    assert violated == ((project.violated,) * 2 if project.violated else (None, None)), result.reason
    assert (found.distinct, found.generated, found.depth) == (result.distinct, result.generated, result.depth)
