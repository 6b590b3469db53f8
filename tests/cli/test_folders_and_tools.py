"""-I and --tla-tools: every command that takes a spec finds its modules and its tools there."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.loading.spec_project import parse_spec
from lockstep.tla.syntax.sany import SanyError
from lockstep.tlc import TlcOptions, find_tla2tools, run_tlc
from lockstep.tlc.newer_tlc import jar_knows_entry
from tests.support.programs.lockstep_command import lockstep
from tests.support.sampling import sampled

#: Its Step is defined in a module that lies elsewhere.
COUNTER = """---- MODULE Counter ----
EXTENDS Steps
VARIABLE x
Init == x = 0
Add == x' = Up(x)
Next == Add
Low == x < 3
====
"""
STEPS = """---- MODULE Steps ----
EXTENDS Naturals
Up(n) == n + 1
====
"""
CFG = "INIT Init\nNEXT Next\nINVARIANT Low\n"
MAPPING = 'kind = "what"\n[lines.added]\naction = "Add"\nshows = { x = "x" }\n'
LOG = '{"what": "added", "x": 1}\n{"what": "added", "x": 2}\n'

#: The commands that take a spec, with what else each needs; and its exit code on Counter.
COMMANDS = {
    "model, by TLC": (("model",), 1),
    "model, compiled": (("model", "--engine", "compiled"), 1),
    "graph": (("graph", "-o", "drawn.svg"), 0),
    "check": (("check", "--mapping", "mapping.toml", "my.log"), 0),
    "check, by TLC": (("check", "--engine", "tlc", "--mapping", "mapping.toml", "my.log"), 0),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A spec, what is checked against it, and its other module two folders away."""
    made = tmp_path_factory.mktemp("work") / "my" / "spec"
    elsewhere = made.parent.parent / "elsewhere" / "modules"
    made.mkdir(parents=True)
    elsewhere.mkdir(parents=True)
    files = {"Counter.tla": COUNTER, "Counter.cfg": CFG, "mapping.toml": MAPPING, "my.log": LOG}
    for name, text in files.items():
        (made / name).write_text(text)
    (elsewhere / "Steps.tla").write_text(STEPS)
    return made


ELSEWHERE = Path("..", "..", "elsewhere", "modules")


@pytest.mark.parametrize("name", sampled(COMMANDS, list(COMMANDS)[:4]))
def test_a_module_is_found_in_a_folder_that_is_named(name: str, folder: Path) -> None:
    (command, *words), code = COMMANDS[name]
    ran = lockstep(command, "--spec", "Counter.tla", "-I", folder, "-I", ELSEWHERE, *words, cwd=folder)
    assert (ran.returncode, "internal error" in ran.stderr) == (code, False), ran.stdout + ran.stderr


@pytest.mark.parametrize("name", sampled(COMMANDS, list(COMMANDS)[:3:2]))
def test_without_the_folder_the_module_is_missing(name: str, folder: Path) -> None:
    (command, *words), _code = COMMANDS[name]
    ran = lockstep(command, "--spec", "Counter.tla", *words, cwd=folder)
    assert ran.returncode == 2
    assert "Steps" in ran.stdout + ran.stderr


def test_the_counterexample_of_tlc_shows_the_lines_of_a_module_found_elsewhere(folder: Path) -> None:
    words = ("--spec", "Counter.tla", "-I", ELSEWHERE, "--format", "json")
    ran = lockstep("model", *words, cwd=folder)
    steps = json.loads(ran.stdout)["counterexample"]
    assert [step["action"] for step in steps] == ["Init", "Add", "Add", "Add"]


def test_the_line_that_replays_a_check_names_the_folder(folder: Path) -> None:
    (folder / "wrong.log").write_text('{"what": "added", "x": 5}\n')
    words = ("--spec", "Counter.tla", "-I", ELSEWHERE, "--mapping", "mapping.toml")
    ran = lockstep("check", *words, "wrong.log", cwd=folder)
    replay = f"replay: lockstep check --spec Counter.tla -I {ELSEWHERE} --mapping mapping.toml wrong.log"
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (1, replay)


def test_a_changed_module_of_a_named_folder_is_compiled_again_and_quoted(folder: Path, tmp_path: Path) -> None:
    modules = tmp_path / "modules"
    modules.mkdir()
    found = []
    for text in (STEPS, STEPS.replace("n + 1", "n + 2")):
        (modules / "Steps.tla").write_text(text)
        spec = load_spec(folder / "Counter.tla", search_path=[modules], cache_dir=tmp_path / "cache")
        after = spec.step(spec.state({"x": 0}), "Add", {})
        assert after is not None
        found.append((after["x"], spec.spec_hash))
    assert [x for x, _ in found] == [1, 2]
    assert found[0][1] != found[1][1]
    assert parse_spec(folder / "Counter.tla", search_path=[modules]).modules["Steps"] == text


def test_a_folder_that_is_not_there_is_refused(folder: Path) -> None:
    ran = lockstep("graph", "--spec", "Counter.tla", "-I", "nowhere", "-o", "drawn.svg", cwd=folder)
    assert ran.returncode == 2
    assert "'nowhere' does not exist" in ran.stderr


@pytest.mark.parametrize(("command", "words"), [("model", ()), ("graph", ("-o", "g.svg", "quorum")), ("check", ("t",))])
def test_a_folder_goes_with_a_spec(command: str, words: tuple[str, ...], folder: Path) -> None:
    ran = lockstep(command, "-I", ELSEWHERE, *words, cwd=folder)
    assert ran.returncode == 2
    assert "with --spec" in ran.stderr


def test_the_help_of_every_command_describes_both_options_in_the_same_words(folder: Path) -> None:
    helps = []
    for command in ("model", "graph", "check"):
        lines = " ".join(lockstep(command, "--help", cwd=folder).stdout.split())
        assert "-I FOLDER" in lines
        helps.append([lines.partition(f"{option} ")[2][:60] for option in ("-I", "--tla-tools")])
    assert helps[0] == helps[1] == helps[2]


# ---- The jar ----


@pytest.mark.parametrize("by", ["--tla-tools", "TLA2TOOLS_JAR"])
@pytest.mark.parametrize("name", sampled(COMMANDS, list(COMMANDS)[::2]))
def test_a_jar_that_is_none_is_refused_even_where_the_spec_is_cached(name: str, by: str, folder: Path) -> None:
    (folder / "no.jar").write_text("no archive")
    (command, *words), _code = COMMANDS[name]
    given, environ = ((by, "no.jar"), {}) if by.startswith("--") else ((), {by: "no.jar"})
    ran = lockstep(command, "--spec", "Counter.tla", "-I", ELSEWHERE, *given, *words, cwd=folder, **environ)
    assert ran.returncode == 3
    assert f"tla2tools.jar is required; {by} names no.jar, which holds no TLC" in ran.stdout + ran.stderr


def changed_jar(path: Path, entry: str, old: bytes, new: bytes) -> Path:
    """A jar like the one at hand, in which one class has another constant."""
    with zipfile.ZipFile(find_tla2tools()) as given, zipfile.ZipFile(path, "w") as made:
        for each in given.infolist():
            content = given.read(each)
            if each.filename == entry:
                assert old in content
                content = content.replace(old, new)
            made.writestr(each, content)
    return path


def test_the_jar_that_is_named_parses_and_compiles_anew(folder: Path, tmp_path: Path) -> None:
    """Its Naturals have another name for a plus, so that SANY refuses the module: it is this jar that parses it."""
    modules = folder / ELSEWHERE
    load_spec(folder / "Counter.tla", search_path=[modules], cache_dir=tmp_path)
    plus, other = rb"a+b ", rb"a%%b"
    jar = changed_jar(tmp_path / "other.jar", "tla2sany/StandardModules/Naturals.tla", plus, other)
    with pytest.raises(SanyError, match=r"\+"):
        load_spec(folder / "Counter.tla", search_path=[modules], cache_dir=tmp_path, jar=jar)


def test_a_newer_jar_gets_the_option_that_it_knows(folder: Path, tmp_path: Path) -> None:
    """No newer one is at hand: a jar whose main class has the word is given the option, and then does not run."""
    newer = changed_jar(tmp_path / "newer.jar", "tlc2/TLC.class", b"-simulate", b"-noGenerateSpecTE")
    given = folder / "Counter.tla", folder / "Counter.cfg"
    by_newer, by_ours = (run_tlc(*given, TlcOptions(jar=jar, library=[folder / ELSEWHERE])) for jar in (newer, None))
    assert "-noGenerateSpecTE" in by_newer.command
    assert by_newer.verdict is Verdict.INCONCLUSIVE
    assert "-noGenerateSpecTE" not in by_ours.command
    assert by_ours.verdict is Verdict.VIOLATED


# ---- What TLC 2.15 does not know of a cfg ----


ENTRIES = [
    (entry, last)
    for entry in ("ALIAS Shown", "POSTCONDITION Done", "CHECK_DEADLOCK FALSE")
    for last in (False, True)  # after an INIT, after an INVARIANT
]


@pytest.mark.parametrize(("entry", "last"), sampled(ENTRIES, [("POSTCONDITION Done", True)]))
def test_an_entry_of_a_newer_tlc_is_named_with_what_takes_it(entry: str, last: bool, tmp_path: Path) -> None:
    definitions = "Init == x = 0\nNext == x' = x\nInv == x = 0\nShown == [x |-> x]\nDone == TRUE"
    text = f"---- MODULE M ----\nVARIABLE x\n{definitions}\n===="
    (tmp_path / "M.tla").write_text(text + "\n")
    entries = ["\\* ALIAS is in a comment", "INIT Init", "NEXT Next", "INVARIANT Inv"]
    entries.insert(4 if last else 2, entry)
    (tmp_path / "M.cfg").write_text("\n".join(entries) + "\n")
    ran = lockstep("model", "--spec", "M.tla", cwd=tmp_path)
    assert ran.returncode == 2
    word, line = entry.split()[0], 5 if last else 3
    expected = (
        f"M.cfg:{line}: LS602 TLC 2.15 does not know the entry {word}; a newer tla2tools.jar (--tla-tools) takes it, "
    )
    assert expected in ran.stdout


def test_the_entries_that_a_jar_knows_are_found(tmp_path: Path) -> None:
    jar = find_tla2tools(environ={})
    assert jar_knows_entry(jar, "SYMMETRY")
    assert not jar_knows_entry(jar, "ALIAS")
    newer = changed_jar(tmp_path / "newer.jar", "tlc2/tool/impl/ModelConfig.class", b"SYMMETRY", b"ALIAS   ")
    assert jar_knows_entry(newer, "ALIAS")
