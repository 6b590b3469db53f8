"""The course: every exercise is graded by the running machinery, and every page shows what its commands print."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.errors import BadInputError
from lockstep.base.package_data import course_dir, spec_dir
from lockstep.jobs.course.course_exercises import (
    FindBug,
    Predict,
    exercise_names,
    load_exercise,
    student_files,
)
from lockstep.jobs.course.find_bug import check_description
from lockstep.jobs.course.plant_expression import ExpressionError, ReferenceMethod, methods_of
from lockstep.jobs.course.predict_steps import expected, run_exercise
from lockstep.jobs.course.student_answers import AnswerError
from lockstep.jobs.course.write_guard import BEGINS, GuardError
from tests.support.places import ROOT
from tests.support.programs.courses import (
    BUGS,
    CHAPTERS,
    COURSE,
    GUARDS,
    PREDICTIONS,
    ran,
    solution,
    template,
    toml,
)
from tests.support.sampling import sampled

PAGES = [COURSE / "README.md", *CHAPTERS]
#: The page that the course starts with has no exercise, nor has the one of hashicorp/raft.
ONE_PAGE = COURSE / "the_protocol_on_one_page.md"
RAFT_PAGE = COURSE / "raft_on_one_page.md"


# ---- Every exercise ----


def test_eight_chapters_have_an_exercise_each_and_every_exercise_has_its_page() -> None:
    pages = {name: load_exercise(name).page for name in exercise_names()}
    assert len(CHAPTERS) == 8
    assert {COURSE / page for page in pages.values()} == set(CHAPTERS)
    assert {page.partition("_")[0] for page in pages.values()} == {str(number) for number in range(1, 9)}
    for name, page in pages.items():
        assert f"lockstep course start {name} " in (COURSE / page).read_text(encoding="utf-8")
    assert (len(PREDICTIONS), len(BUGS), len(GUARDS)) == (8, 2, 2)


def test_every_exercise_is_listed_in_the_order_of_the_chapters() -> None:
    code, printed = ran("course", "list")
    assert code == 0
    assert [line.split()[0] for line in printed.splitlines()] == exercise_names()
    assert exercise_names() == ["1", "2", "2-guard", "3", "4", "4-bug", "5", "5-guard", "6", "7", "7-bug", "8"]


@pytest.mark.parametrize("name", sampled([*PREDICTIONS, *BUGS], ["2", "4-bug", "5"]))
def test_the_solution_is_graded_solved_and_the_template_is_not(name: str) -> None:
    code, printed = ran("course", "check", name, solution(name))
    assert (code, printed.splitlines()[-1]) == (0, f"exercise {name}: solved")
    code, printed = ran("course", "check", name, template(name))
    assert (code, printed.splitlines()[-1]) == (1, f"exercise {name}: not yet")
    assert "not answered yet" in printed


# ---- Predictions ----


def answered(name: str, folder: Path, **changed: str) -> Path:
    """The solution of an exercise with some answers changed, each as TOML writes it."""
    lines = solution(name).read_text(encoding="utf-8").splitlines()
    for field, value in changed.items():
        lines = [f"{field} = {value}" if line.startswith(f"{field} = ") else line for line in lines]
    path = folder / "answer.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def mistakes() -> Iterator[Any]:
    for name in PREDICTIONS:
        exercise = load_exercise(name)
        assert isinstance(exercise, Predict)
        for question in exercise.questions:
            for mistake in question.mistakes:
                yield pytest.param(name, question.name, mistake, id=f"{name}-{question.name}-{mistake.answer}")


@pytest.mark.parametrize(("name", "field", "mistake"), list(mistakes()))
def test_a_typical_mistake_gets_the_remark_on_what_it_overlooks(
    name: str, field: str, mistake: Any, tmp_path: Path
) -> None:
    code, printed = ran("course", "check", name, answered(name, tmp_path, **{field: toml(mistake.answer)}))
    assert code == 1
    assert f"{field}: {toml(mistake.answer)} is not what the spec says\n    {mistake.says}\n" in printed
    assert "4 of 5 right" in printed


def test_any_other_wrong_answer_gets_the_hint_and_with_an_option_the_solution(tmp_path: Path) -> None:
    path = answered("1", tmp_path, end_of_n1="17")
    _, printed = ran("course", "check", "1", path)
    assert "end_of_n1: 17 is not what the spec says\n    Count the entries of n1, and begin with 0.\n" in printed
    code, printed = ran("course", "check", "1", path, "--solution")
    assert "end_of_n1: 17 is not what the spec says; the spec says 1\n" in printed
    assert code == 1


@pytest.mark.parametrize("name", PREDICTIONS)
def test_the_printed_solution_is_the_one_that_is_graded(name: str) -> None:
    exercise, run = load_exercise(name), run_exercise(name)
    assert isinstance(exercise, Predict)
    values = tomllib.loads(solution(name).read_text(encoding="utf-8"))
    assert [question.name for question in exercise.questions] == list(values)
    _, printed = ran("course", "check", name, template(name), "--solution")
    for question in exercise.questions:
        assert run.compare(question, values[question.name]).equal
        assert f"{question.name}: not answered yet; the spec says {expected(run, question)}\n" in printed


def test_other_steps_have_another_solution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Right answers are stored nowhere: the same answers are wrong where a client appends another value."""
    shutil.copytree(course_dir() / "1", tmp_path / "1")
    trace = tmp_path / "1" / "steps.trace.ndjson"
    text = trace.read_text(encoding="utf-8")
    assert text.count('"value":"y"') == 1
    trace.write_text(text.replace('"value":"y"', '"value":"z"'), encoding="utf-8")
    for module in ("course_exercises", "predict_steps"):
        monkeypatch.setattr(f"lockstep.jobs.course.{module}.course_dir", lambda: tmp_path)
    code, printed = ran("course", "check", "1", solution("1"))
    assert (code, "4 of 5 right" in printed) == (1, True)
    assert "log_of_n1: " in printed.partition("is not what the spec says")[0].splitlines()[-1]


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("end_of_n1", "", r"answer.toml:4: no TOML: "),
        ("end_of_n1", "9" * 5000, r"answer.toml:\d+: no TOML: "),
        ("end_of_n1", "[" * 9000, r"answer.toml:\d+: no TOML: "),
    ],
)
def test_answers_that_are_no_toml_are_malformed_with_file_and_line(
    field: str, value: str, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(AnswerError, match=problem):
        ran("course", "check", "1", answered("1", tmp_path, **{field: value}))


@pytest.mark.parametrize(
    ("question", "value", "kind"),
    [
        ("end_of_n1", '"2"', "a number"),
        ("end_of_n1", "1.5", "a number"),
        ("end_of_n1", "99999999999", "a number"),
        ("log_of_n1", "1", "a log, such as"),
    ],
)
def test_an_answer_of_another_kind_is_named_and_the_others_are_graded(
    question: str, value: str, kind: str, tmp_path: Path
) -> None:
    code, printed = ran("course", "check", "1", answered("1", tmp_path, **{question: value}))
    assert code == 1
    assert re.search(rf"{question}: .* is not what is asked for, {kind}.*answer.toml:\d+\)", printed)
    assert "4 of 5 right" in printed


def test_a_field_that_is_unknown_or_missing_is_named(tmp_path: Path) -> None:
    path = answered("1", tmp_path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("end_of_n1", "end_of_m1"), encoding="utf-8")
    with pytest.raises(AnswerError, match=r"answer.toml:4: field `end_of_m1`: .*did you mean end_of_n1"):
        ran("course", "check", "1", path)
    path.write_text(re.sub(r"(?m)^end_of_n1.*$", "", text), encoding="utf-8")
    with pytest.raises(AnswerError, match=r"field `end_of_n1`: missing"):
        ran("course", "check", "1", path)
    path.write_bytes(b"\xff")
    with pytest.raises(BadInputError, match=r"answer.toml:1: the byte 0xff is no UTF-8"):
        ran("course", "check", "1", path)
    with pytest.raises(BadInputError, match="there is no exercise '9'"):
        ran("course", "check", "9", path)


# ---- Files ----


def test_start_copies_what_a_student_needs_and_overwrites_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    ran("course", "start", "1", folder)
    assert {each.name for each in folder.iterdir()} == {each.name for each in student_files("1")}
    assert not (folder / "exercise.toml").exists()
    (folder / "answer.toml").write_text("mine", encoding="utf-8")
    (folder / "steps.trace.ndjson").unlink()
    with pytest.raises(BadInputError, match=r"answer.toml is there already"):
        ran("course", "start", "1", folder)
    assert (folder / "answer.toml").read_text(encoding="utf-8") == "mine"
    assert not (folder / "steps.trace.ndjson").exists()


# ---- Bugs ----


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_shows_and_is_gone_afterwards(name: str) -> None:
    exercise = load_exercise(name)
    assert isinstance(exercise, FindBug)
    assert exercise.hints
    assert {exercise.method, *exercise.hints} <= set(methods_of(exercise.module))
    assert exercise.method not in exercise.hints
    held = ReferenceMethod(exercise.module, exercise.method).running()
    before = [each.__code__ for each in held]
    assert f"{exercise.clusters[0]}, event " in check_description(exercise)
    assert [each.__code__ for each in held] == before
    assert before


def claim(folder: Path, method: str, expression: str) -> Path:
    path = folder / "answer.toml"
    path.write_text(f"method = '{method}'\nexpression = '''{expression}'''\n", encoding="utf-8")
    return path


STORE = "LedgerStore.update_committed_index"


def test_for_a_wrong_method_the_cluster_still_leaves_the_spec(tmp_path: Path) -> None:
    code, printed = ran("course", "check", "4-bug", claim(tmp_path, "LedgerStore.truncate", "?"))
    assert code == 1
    assert "committedIndex: the trace shows 5, the spec says 1\n    A log that is cut would show in `log`" in printed
    with pytest.raises(AnswerError, match=r":1: field `method`: .*has no method 'LedgerStore.trunkate'.*did you mean"):
        ran("course", "check", "4-bug", claim(tmp_path, "LedgerStore.trunkate", "?"))


@pytest.mark.parametrize(
    "expression", ["self.end_index", "min(new_index - 1, self.end_index)", "True", "new_index > 0"]
)
def test_for_a_wrong_correction_the_first_deviation_of_its_cluster_is_printed(expression: str, tmp_path: Path) -> None:
    code, printed = ran("course", "check", "4-bug", claim(tmp_path, STORE, expression))
    assert (code, f"expression: with `{expression}` ordered, seed 7, " in printed) == (1, True)


@pytest.mark.parametrize(
    "expression", ["m.last_log + 1", "min(replication.next_index, m.last_log + 1)", "replication.next_index - 1"]
)
def test_half_of_a_minimum_is_not_enough(expression: str, tmp_path: Path) -> None:
    code, printed = ran("course", "check", "7-bug", claim(tmp_path, "handle_append_entries_response", expression))
    assert (code, f"expression: with `{expression}` raft_" in printed) == (1, True)


def test_an_equivalent_expression_is_right(tmp_path: Path) -> None:
    same = "new_index if new_index < self.end_index else self.end_index"
    assert ran("course", "check", "4-bug", claim(tmp_path, STORE, same))[0] == 0


@pytest.mark.parametrize(
    "expression",
    [
        *("open(1)", "__import__(1)", "self.__class__", "[new_index][0]", "(lambda: 1)()", "new_index ** 9", "min"),
        *("self.force()", "min(new_index, key=1)", "(new_index := 1)", "f'{new_index}'", "1; 2", "", "min(" * 300),
    ],
)
def test_nothing_runs_but_what_the_method_has_already(expression: str, tmp_path: Path) -> None:
    if expression == "min":  # a name that the method has, and which is then no number
        assert ran("course", "check", "4-bug", claim(tmp_path, STORE, expression))[0] == 1
        return
    with pytest.raises(AnswerError, match=r"answer.toml:2: field `expression`: "):
        ran("course", "check", "4-bug", claim(tmp_path, STORE, expression))
    with pytest.raises(ExpressionError):
        ReferenceMethod("raftref.dledger.store", STORE).expression(expression)


# ---- Guards ----


def guard(name: str, text: str, folder: Path) -> Path:
    """The module of an exercise with this guard."""
    path = folder / load_exercise(name).file
    path.write_text(
        template(name).read_text(encoding="utf-8").replace("\n    TRUE\n", f"\n    {text}\n"), encoding="utf-8"
    )
    return path


@pytest.mark.nightly
def test_a_guard_that_keeps_the_promise_and_lets_things_happen_is_right() -> None:
    code, printed = ran("course", "check", "5-guard", solution("5-guard"))
    assert (code, "every property holds in all 1,047 states, and OwnTermCommits is true in some" in printed) == (
        0,
        True,
    )


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "text", "code", "remark"),
    [
        ("2-guard", "TRUE", 1, "ElectionSafety is violated, 6 steps from the beginning:"),
        ("2-guard", "FALSE", 1, "the guard forbids too much\n    A guard that is always false keeps every promise"),
        ("2-guard", "n = candidate", 1, "the guard forbids too much"),
        ("2-guard", "node[n].currVoteFor = NoNode", 0, "solved"),
        ("2-guard", r"node[n].currVoteFor \in {NoNode, candidate}", 0, "solved"),
        ("2-guard", r"candidate = CHOOSE x \in Node : TRUE", 1, "your guard forbids it, in the state where"),
        ("2-guard", r"node[n].currVoteFor = NoNode /\ node[n].currTerm = 1", 1, "your guard forbids it"),
        ("2-guard", r"n # candidate /\ node[n].currVoteFor = NoNode", 1, "your guard forbids it"),
        (
            "2-guard",
            r"node[n].currVoteFor = NoNode /\ (Cardinality(Node) = 3 => n # CHOOSE m \in Node : TRUE)",
            1,
            "your guard forbids it",
        ),
        ("5-guard", "TRUE", 1, "LeaderCompleteness is violated, 10 steps from the beginning:"),
        ("5-guard", "FALSE", 1, "the guard forbids too much\n    A leader must be able to commit an entry"),
        ("5-guard", r"\E i \in 0..index : TermAt(state.log, i) = state.currTerm", 0, "solved"),
        ("5-guard", "~(TermAt(state.log, index) < state.currTerm)", 0, "solved"),
        ("5-guard", "index > 0", 1, "your guard forbids it, in the state where"),
        ("5-guard", r"TermAt(state.log, index) = state.currTerm /\ index > 0", 1, "your guard forbids it"),
        ("5-guard", "TermAt(state.log, index) >= 3", 1, "your guard forbids it"),
    ],
)
def test_a_wrong_guard_gets_the_step_that_it_allows_or_forbids(
    name: str, text: str, code: int, remark: str, tmp_path: Path
) -> None:
    assert (found := ran("course", "check", name, guard(name, text, tmp_path)))[0] == code
    assert remark in found[1]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("node[n].currVoteFor = Nobody", r"14:\d+: LS601 Unknown operator: `Nobody'"),
        ("node[n].currVoteFor", r"\d+:\d+: LS603 .*needs TRUE or FALSE"),
        ("node'[n].currVoteFor = NoNode", r"14:\d+: "),
    ],
)
def test_a_guard_that_cannot_be_parsed_or_evaluated_is_malformed(text: str, place: str, tmp_path: Path) -> None:
    with pytest.raises(GuardError, match=rf"{tmp_path}/OneVote.tla:{place}"):
        ran("course", "check", "2-guard", guard("2-guard", text, tmp_path))


@pytest.mark.parametrize("text", ["TRUE\nOther == 1", "TRUE\n=====", "LET a == 1 IN TRUE\n---- MODULE M ----"])
def test_a_guard_is_one_expression(text: str, tmp_path: Path) -> None:
    with pytest.raises(GuardError, match=r"OneVote.tla:15: a guard is one expression"):
        ran("course", "check", "2-guard", guard("2-guard", text, tmp_path))


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("EXTENDS MCDLedger", "EXTENDS MCDLedger, IOUtils", 10),
        ('"LEADER"', '"FOLLOWER"', 25),
        (BEGINS, r"\* begins", 1),
    ],
)
def test_only_the_guard_of_a_module_may_be_changed(old: str, new: str, line: int, tmp_path: Path) -> None:
    path = guard("2-guard", "TRUE", tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(GuardError, match=rf"OneVote.tla:{line}: "):
        ran("course", "check", "2-guard", path)


# ---- Pages ----


#: The chapters whose recordings are diagnosed for ten seconds are for the night.
BY_DAY = [page for page in PAGES if page.stem not in ("6_lost_flushes", "7_the_other_face")]


@pytest.mark.parametrize("page", sampled(PAGES, BY_DAY), ids=lambda page: page.stem)
def test_the_commands_on_a_page_print_what_it_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "traces").symlink_to(ROOT / "traces")
    blocks = re.findall(r"^```text\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        commands = [line for line in block.splitlines() if line.startswith("$ lockstep ")]
        assert "".join(f"{line}\n{ran(*line.split()[2:])[1]}" for line in commands) == block


@pytest.mark.parametrize(("page", "module"), [(ONE_PAGE, "Dispatcher"), (RAFT_PAGE, "Figure2")])
def test_the_course_starts_with_each_protocol_on_one_page_of_at_most_180_lines(page: Path, module: str) -> None:
    assert page.name in (COURSE / "README.md").read_text(encoding="utf-8").partition("| chapter |")[0]
    assert len((spec_dir() / "common" / f"{module}.tla").read_text(encoding="utf-8").splitlines()) <= 180


@pytest.mark.parametrize("page", [ONE_PAGE, RAFT_PAGE, *CHAPTERS], ids=lambda page: page.stem)
def test_the_lines_of_the_spec_on_a_page_are_the_specs(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    quotes = list(re.finditer(r"^```tla\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert quotes
    for quote in quotes:
        (*_, target) = re.findall(r"\]\((\S+\.tla)\)", text[: quote.start()])
        assert quote[1] in (page.parent / target).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [ONE_PAGE, RAFT_PAGE, *CHAPTERS], ids=lambda page: page.stem)
def test_the_models_that_a_page_names_are_there(page: Path) -> None:
    from lockstep.systems.registry import model_names

    named = re.findall(r"`lockstep model (\w+)`", page.read_text(encoding="utf-8"))
    assert set(named) <= set(model_names())
