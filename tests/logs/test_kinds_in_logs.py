"""States that differ in kind only, such as x = 1 and x = TRUE, are two states for the search of explanations as well.

Python holds 1 and TRUE equal, so that whatever looks states up by their values alone takes them for one. Then the way
that is given up may be the only one that explains the log, or the only one that violates nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.models.search_result import SpecFiles
from lockstep.systems.file_check import own_check

MAPPING = """kind = "e"
[hidden]
Hide = 2
[lines.go]
action = "Go"
[lines.pick]
action = "Pick"
[lines.see]
shows = { x = "x" }
"""

SPEC = """VARIABLES x, y
Init == {init} /\\ y = 0
Hide == {hide}
Pick == {pick}
Go == {go} /\\ {then}
Next == Hide \\/ Pick \\/ Go
NotOne == ToString(x) # "1"
NotTrue == ToString(x) # "TRUE"
Stays == [][ToString(x') # "1"]_x
"""
NOTHING = "FALSE /\\ UNCHANGED <<x, y>>"
BOTH = "(x' = 1 \\/ x' = TRUE) /\\ UNCHANGED y"
SEEN = '{"e": "see", "x": true}'
TRUE_FIRST = "(x' = TRUE \\/ x' = 1) /\\ UNCHANGED y"
DEFAULTS = {"init": "x = 5", "hide": NOTHING, "pick": NOTHING, "go": 'ToString(x) = "TRUE"'} | {
    "then": "x' = 7 /\\ UNCHANGED y"
}
ON_Y = {"go": "TRUE", "then": "y' = 1 /\\ UNCHANGED x"}

#: Parts of the spec that differ from those above, the lines, additions to the cfg, and the verdict.
LOGS = {
    "initial states": ({"init": "(x = 1 \\/ x = TRUE)"}, ["go"], "", Verdict.HOLDS),
    "initial states, the other way about": ({"init": "(x = TRUE \\/ x = 1)"}, ["go"], "", Verdict.HOLDS),
    "what hidden steps lead from": (
        {"pick": BOTH, "hide": "ToString(x) = \"TRUE\" /\\ x' = 8 /\\ y' = y", "go": "x = 8"},
        ["pick", "go"],
        "",
        Verdict.HOLDS,
    ),
    "an invariant of what does not change": ({"pick": BOTH} | ON_Y, ["pick", "go"], "INVARIANT NotOne", Verdict.HOLDS),
    "an invariant of what does not change, the other way about": (
        {"pick": TRUE_FIRST} | ON_Y,
        ["pick", "go"],
        "INVARIANT NotOne",
        Verdict.HOLDS,
    ),
    "what hidden steps lead to": ({"hide": f"x = 5 /\\ {BOTH}"}, ["go"], "", Verdict.HOLDS),
    "what a line leads to": ({"pick": BOTH}, ["pick", "go"], "", Verdict.HOLDS),
    "what a line leads to, the other way about": (
        {"pick": TRUE_FIRST, "go": 'ToString(x) = "1"'},
        ["pick", "go"],
        "",
        Verdict.HOLDS,
    ),
    "what a line of two kinds of state leads to": (
        {"pick": "(x' = 1 /\\ y' = 1) \\/ (x' = TRUE /\\ y' = 2)"},
        ["pick", "go"],
        "",
        Verdict.HOLDS,
    ),
    "what an action reads": (
        {
            "pick": "(x' = 1 /\\ y' = 1) \\/ (x' = TRUE /\\ y' = 2)",
            "hide": "ToString(x) = \"TRUE\" /\\ x' = 8 /\\ y' = y",
        }
        | {"go": "x = 8"},
        ["pick", "go"],
        "",
        Verdict.HOLDS,
    ),
    "what is seen": ({"pick": BOTH}, ["pick", SEEN], "", Verdict.HOLDS),
    "an invariant of the one": ({"pick": BOTH}, ["pick"], "INVARIANT NotOne", Verdict.HOLDS),
    "an invariant of the other": ({"pick": BOTH}, ["pick", "go"], "INVARIANT NotTrue", Verdict.VIOLATED),
    "a property of the steps": ({"pick": BOTH}, ["pick"], "PROPERTY Stays", Verdict.HOLDS),
    "neither": ({"pick": BOTH, "go": 'ToString(x) = "2"'}, ["pick", "go"], "", Verdict.VIOLATED),
}


@pytest.mark.parametrize("name", LOGS)
def test_states_that_differ_in_kind_only_explain_a_log_each_for_itself(name: str, tmp_path: Path) -> None:
    parts, lines, cfg, verdict = LOGS[name]
    text = SPEC
    for part, written in (DEFAULTS | parts).items():
        text = text.replace("{" + part + "}", written)
    module, config, mapping, log = (tmp_path / each for each in ("M.tla", "M.cfg", "mapping.toml", "a.log"))
    module.write_text(f"---- MODULE M ----\nEXTENDS Naturals, TLC\n{text}\n====\n")
    config.write_text(f"INIT Init\nNEXT Next\n{cfg}\n")
    mapping.write_text(MAPPING)
    log.write_text("".join(f"{line if line == SEEN else json.dumps({'e': line})}\n" for line in lines))
    found = own_check(SpecFiles(module, config, mapping=mapping)).check_logs([log])
    assert found.verdict is verdict, found.reason
