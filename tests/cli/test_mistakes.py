"""A mistake in a spec is reported alike by every command, with its place, and never as an internal error."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from pathlib import Path

import pytest

from lockstep.tla.compile.spec_fault import SpecFault
from lockstep.tla.explore import explore
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.loading.pluscal import note_of_translation, untranslated
from lockstep.tlc import find_java, find_tla2tools
from tests.scripts.malformed import Case, run
from tests.support.programs.mistakes import ALGORITHM, MISTAKES, Mistake
from tests.support.sampling import sampled

MAPPING = b'kind = "what"\n[lines.added]\naction = "Add"\nargs = { n = "n" }\nshows = { count = "count" }\n'
LOG = b'{"what": "added", "n": 1, "count": 1}\n{"what": "added", "n": 1, "count": 2}\n'

COMMANDS = {
    "model, by TLC": ("model", "--spec", "M.tla", "--format", "json"),
    "model, compiled": ("model", "--spec", "M.tla", "--engine", "compiled", "--format", "json"),
    "graph": ("graph", "--spec", "M.tla", "-o", "drawn.svg"),
}


def case(mistake: Mistake, command: tuple[str, ...]) -> Case:
    files = {"M.tla": mistake.tla.encode(), "M.cfg": mistake.cfg.encode(), "m.toml": MAPPING, "m.log": LOG}
    return Case("", mistake.name, files, command)


ASKED = [(mistake, command) for mistake in MISTAKES for command in COMMANDS]
#: Each mistake by one of the commands, in turns; TLC, which takes longest, has one turn of six.
TURNS = ("model, by TLC", "graph", "model, compiled", "graph", "model, compiled", "graph")
IN_TURNS = list(zip(MISTAKES, itertools.cycle(TURNS), strict=False))


@pytest.mark.parametrize(
    ("mistake", "command"),
    sampled(ASKED, IN_TURNS[::2] + IN_TURNS[1::6]),
    ids=lambda each: each if isinstance(each, str) else each.name,
)
def test_every_command_reports_a_mistake_alike(mistake: Mistake, command: str, tmp_path: Path) -> None:
    output = run(case(mistake, COMMANDS[command]), tmp_path)
    assert output.exit_code == 2, output.text
    assert "internal error" not in output.text
    if not output.text.startswith("{"):  # no search has begun
        assert output.text == f"lockstep: {mistake.said}"
        return
    record = json.loads(output.text)
    assert (record["verdict"], record["reason"].removeprefix(f"{tmp_path}/")) == ("malformed", mistake.said)
    steps = record["counterexample"]
    assert steps is None or len(steps) == mistake.steps
    assert steps is not None or not mistake.steps


#: A mistake in a formula, where TLC prints no steps; one in a cfg; one in the search itself.
ALIKE = (
    "operands in the wrong order, without a place by TLC",
    "a Next that takes an argument",
    "a CONSTRAINT that is a number",
)


@pytest.mark.parametrize(
    "mistake",
    sampled(MISTAKES, [each for each in MISTAKES if each.name in ALIKE]),
    ids=lambda each: each.name,
)
def test_both_engines_print_the_same_object(mistake: Mistake, tmp_path: Path) -> None:
    engines = [case(mistake, COMMANDS[f"model, {each}"]) for each in ("by TLC", "compiled")]
    record = [json.loads(run(each, tmp_path).text) for each in engines]
    apart = ("engine", "seconds", "counterexample")
    one, other = ({key: value for key, value in each.items() if key not in apart} for each in record)
    assert one == other
    assert [len(each["counterexample"] or ()) for each in record] == [mistake.steps, mistake.steps]
    assert (one["distinct"], one["generated"], one["depth"], one["property"]) == (None, None, None, None)


OF_ADD = [each for each in MISTAKES if re.search(r"LS60[34] Add\(", each.said)]


@pytest.mark.parametrize("engine", ["compiled", "tlc"])
@pytest.mark.parametrize("mistake", sampled(OF_ADD, OF_ADD[3:4]), ids=lambda each: each.name)
def test_a_check_of_a_log_reports_a_mistake_of_the_spec_with_its_place(
    mistake: Mistake, engine: str, tmp_path: Path
) -> None:
    command = ("check", "--spec", "M.tla", "--mapping", "m.toml", "--engine", engine, "m.log")
    output = run(case(mistake, command), tmp_path)
    place, code, wrong = re.fullmatch(r"(\S+) (LS\d+) Add\(n = 1\):? (.*)", mistake.said).groups()  # type: ignore[union-attr]
    assert output.exit_code == 2
    assert f"m.log: {code} malformed: the spec could not be evaluated at line " in output.text
    assert f"(Add): {mistake.said}" in output.text or f"(Add): {place} {code} {wrong}" in output.text


FOUND = [each for each in MISTAKES if "LS60" in each.said]


@pytest.mark.parametrize("mistake", sampled(FOUND, FOUND[::12]), ids=lambda each: each.name)
def test_a_search_in_python_reports_a_mistake_of_the_spec_with_its_place(mistake: Mistake, tmp_path: Path) -> None:
    (tmp_path / "M.tla").write_text(mistake.tla)
    (tmp_path / "M.cfg").write_text(mistake.cfg)
    with pytest.raises(Exception, match=re.escape(mistake.said.partition(" ")[2])) as raised:
        explore(load_spec(tmp_path / "M.tla", tmp_path / "M.cfg", cache_dir=tmp_path / "cache"))
    if isinstance(raised.value, SpecFault):
        assert f"{raised.value.place}: {raised.value.code} " == mistake.said[: mistake.said.index(" ") + 7]
        assert len(raised.value.trace) == (mistake.steps or 0)


# ---- PlusCal ----

PLAIN = ALGORITHM.replace("MODULE M", "MODULE P")
FAIR = PLAIN.replace("--algorithm", "--fair algorithm")


@pytest.fixture(scope="module")
def translated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The algorithm and the fair one, with the translations that the translator makes of them."""
    made = {}
    for name, text in {"plain": PLAIN, "fair": FAIR}.items():
        module = tmp_path_factory.mktemp(name) / "P.tla"
        module.write_text(text)
        command = [str(find_java().path), "-cp", str(find_tla2tools()), "pcal.trans", "-nocfg", str(module)]
        subprocess.run(command, cwd=module.parent, capture_output=True, check=True, timeout=60)
        made[name] = module.read_text()
        assert "PCal-" in made[name]
    return made


def note(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str | None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    (folder / "P.tla").write_text(text)
    found = note_of_translation(folder / "P.tla")
    assert note_of_translation(folder / "P.tla") == found, "the kept answer is another"
    return None if found is None else found.removeprefix(f"{folder}/")


@pytest.mark.parametrize("name", ["plain", "fair"])
def test_an_algorithm_that_is_newer_than_its_translation_is_noted(
    name: str, translated: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = translated[name]
    assert note(text, tmp_path, monkeypatch) is None
    changed = note(text.replace("while count < 2", "while count < 3", 1), tmp_path, monkeypatch)
    assert changed is not None
    assert changed.startswith("P.tla:3: LS606 note: the algorithm was changed since it was translated;")
    broken = note(text.replace("while count < 2", "whale count < 2", 1), tmp_path, monkeypatch)
    assert broken is not None
    assert "and does not translate any more" in broken
    edited = note(text.replace("count' = count + 1", "count' = count + 2"), tmp_path, monkeypatch)
    line = text[: text.index("BEGIN TRANSLATION")].count("\n") + 1
    assert edited is not None
    assert edited.startswith(f"P.tla:{line}: LS606 note: the translation was edited")


def test_a_module_without_checksums_or_algorithm_has_nothing_to_note(
    translated: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = re.sub(r"((?:BEGIN|END) TRANSLATION).*", r"\1", translated["plain"])
    assert without != translated["plain"]
    assert note(without, tmp_path, monkeypatch) is None
    assert note("---- MODULE P ----\n====\n", tmp_path, monkeypatch) is None
    assert (untranslated(PLAIN), untranslated(FAIR), untranslated(without)) == (3, 3, None)


def test_a_command_notes_an_outdated_translation_and_gives_its_verdict(
    translated: dict[str, str], tmp_path: Path
) -> None:
    text = translated["plain"].replace("while count < 2", "while count < 3", 1)
    files = {"P.tla": text.encode(), "P.cfg": b"SPECIFICATION Spec\nCHECK_DEADLOCK FALSE\n"}
    output = run(Case("", "", files, ("model", "--spec", "P.tla", "--engine", "compiled")), tmp_path)
    assert "P.tla:3: LS606 note: the algorithm was changed since it was translated" in output.text
    assert output.exit_code == 0
    assert "no error in 4 distinct states" in output.text


def test_an_algorithm_in_a_comment_of_a_whole_spec_is_no_mistake(tmp_path: Path) -> None:
    whole = PLAIN.replace("====", "VARIABLE x\nInit == x = 0\nNext == UNCHANGED x\n====")
    files = {"P.tla": whole.encode(), "P.cfg": b"INIT Init\nNEXT Next\n"}
    output = run(Case("", "", files, ("model", "--spec", "P.tla", "--engine", "compiled")), tmp_path)
    assert output.exit_code == 0, output.text
