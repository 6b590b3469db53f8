"""The form of an exercise: its questions, what is written into its answer.toml, and the grade of a page's request."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from lockstep.base.package_data import course_dir
from lockstep.jobs.course.answer_form import asked, filled
from lockstep.jobs.course.course_exercises import ANSWER, FindBug, WriteGuard, exercise_names, load_exercise
from lockstep.jobs.course.grade_answers import answer_names
from lockstep.jobs.course.student_answers import parse_answers
from lockstep.jobs.play.page_requests import BadRequestError, RefusedError
from lockstep.jobs.play_folder.exercise_requests import ExerciseRequests
from lockstep.report.page.page_content import Tree
from tests.support.programs.courses import BUGS, PREDICTIONS, graded_exercise, ran, right_fields, solution, template
from tests.support.sampling import sampled

GRADED = [*PREDICTIONS, *BUGS]


# ---- The file ----


@pytest.mark.parametrize("name", GRADED)
def test_the_form_asks_each_question_in_the_words_of_the_file(name: str) -> None:
    text = template(name).read_text(encoding="utf-8")
    questions = asked(text)
    assert list(questions) == answer_names(graded_exercise(name))
    for words in questions.values():
        assert len(words) > 10
        assert f"# {words}\n" in text


@pytest.mark.parametrize("name", GRADED)
def test_what_is_typed_into_the_form_is_read_from_the_file_as_the_solution(name: str) -> None:
    exercise = graded_exercise(name)
    form = template(name).read_text(encoding="utf-8")
    text, problems = filled(form, right_fields(name), as_text=isinstance(exercise, FindBug))
    assert problems == []
    answers = parse_answers(Path(ANSWER), text, answer_names(exercise))
    assert answers.values == tomllib.loads(solution(name).read_text(encoding="utf-8"))
    lines = template(name).read_text(encoding="utf-8").splitlines()
    assert {question: lines[line - 1] for question, line in answers.lines.items()} == {
        question: f'{question} = "?"' for question in answers.values
    }


QUESTION = '# How?\nhow = "?"\n'


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("", "?"), ("  ", "?"), ("?", "?"), ("n1", "n1"), ('"n1"', "n1"), ("none", "none"), ("-1", -1)),
        *(("true", True), ("[]", []), ('[{ term = 1, value = "x" }]', [{"term": 1, "value": "x"}]), (" 2 # ?", 2)),
    ],
)
def test_a_field_is_a_value_of_toml_or_a_word_without_quotes(text: str, value: object) -> None:
    assert tomllib.loads(filled(QUESTION, {"how": text}, as_text=False)[0]) == {"how": value}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{ term = 1", r"field `how`: no value: "),
        ("n1 or n2", r"field `how`: no value: Invalid value"),
        ("1\nother = 2", r"field `how`: more than one line"),
        ("1, 2", r"field `how`: no value: "),
        ("9" * 5000, r"field `how`: no value: "),
        ("[" * 9000, r"field `how`: more than 100 brackets"),
    ],
)
def test_a_field_that_is_no_value_is_named(text: str, problem: str) -> None:
    unchanged, (found,) = filled(QUESTION, {"how": text}, as_text=False)
    assert re.match(problem, found)
    assert unchanged == QUESTION


@pytest.mark.parametrize("text", ["min(a, b)", 'say("\\n")', "1", "a\nb = 2", "ä🙂", "\x7f"])
def test_a_field_of_a_bug_is_a_text_whatever_it_is(text: str) -> None:
    written, problems = filled(QUESTION, {"how": text}, as_text=True)
    assert (tomllib.loads(written), problems) == ({"how": text}, [])


# ---- The request of a page ----


def graded(name: str, answers: dict[str, str], *, shows_solution: bool = False) -> Tree:
    request = {"type": "grade", "fields": answers, "solution": shows_solution}
    return ExerciseRequests(name, graded_exercise(name)).handle(json.dumps(request).encode())


def printed_by_the_command(name: str, answers: dict[str, str], folder: Path, *options: str) -> list[str]:
    """The lines that `lockstep course check` prints on the same answers in a file, but for where that is."""
    text, _ = filled((course_dir() / name / ANSWER).read_text(encoding="utf-8"), answers, as_text=name in BUGS)
    (folder / ANSWER).write_text(text, encoding="utf-8")
    _, printed = ran("course", "check", name, folder, *options)
    return [line.replace(f"{folder}/", "") for line in printed.splitlines()]


@pytest.mark.parametrize("name", sampled(["1", "7-bug"], ["1"]))
def test_a_page_grades_as_the_command_does(name: str, tmp_path: Path) -> None:
    right = right_fields(name)
    first = next(iter(right))
    for answers in (right, {**right, first: ""}, {**right, first: "[1]" if name == "1" else "most_entries"}, {}):
        for shows_solution in (False, True):
            options = ["--solution"] * shows_solution
            *lines, last = printed_by_the_command(name, answers, tmp_path, *options)
            found = graded(name, answers, shows_solution=shows_solution)
            # A form has no lines to name.
            assert found["lines"] == [re.sub(r" \(answer\.toml:\d+\)$", "", line) for line in lines]
            assert found["solved"] == last.endswith(": solved") == (answers == right)


def test_the_states_come_with_the_grade_of_right_answers_alone() -> None:
    right = right_fields("5")
    assert graded("5", {**right, "lost": "never"}, shows_solution=True)["steps"] is None
    steps = graded("5", right)["steps"]
    assert (len(steps["steps"]), steps["title"]) == (41, "Exercise 5: Figure 8, step by step")
    assert steps["reason"].startswith("a behaviour of the spec that violates CommittedEntriesStayProp")


def test_a_field_that_is_no_value_stays_open_and_the_others_are_graded() -> None:
    right = right_fields("1")
    found = graded("1", {**right, "end_of_n1": "{"})
    assert (found["solved"], found["steps"]) == (False, None)
    assert found["lines"][0].startswith("field `end_of_n1`: no value: ")
    assert "end_of_n1: not answered yet" in found["lines"]
    assert sum("is right" in line for line in found["lines"]) == len(right) - 1


def test_an_answer_that_cannot_be_graded_is_refused_with_the_name_of_its_question() -> None:
    with pytest.raises(RefusedError, match=r"^field `method`: .* has no method 'trunkate'"):
        graded("4-bug", {"method": "trunkate"})


@pytest.mark.parametrize("body", [b"", b"{}", b'{"type":"take","at":0,"offer":0}', b'{"type":"grade","fields":[]}'])
def test_a_request_that_grades_nothing_is_malformed(body: bytes) -> None:
    with pytest.raises(BadRequestError):
        ExerciseRequests("1", graded_exercise("1")).handle(body)


def test_every_exercise_is_graded_by_a_form_or_has_a_guard() -> None:
    guards = [name for name in exercise_names() if isinstance(load_exercise(name), WriteGuard)]
    assert sorted([*GRADED, *guards]) == sorted(exercise_names())
