"""The pages of the course in Chromium, from the disk: answered wrongly and rightly, and graded as by the command."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from lockstep.jobs.course.answer_form import filled
from lockstep.jobs.course.course_exercises import ANSWER, Predict, exercise_names
from lockstep.jobs.play_folder.chapter_pages import chapter_page, chapters
from lockstep.jobs.play_folder.exercise_pages import exercise_page
from lockstep.jobs.play_folder.write_folder import PlayFolder
from tests.support.programs.browsers import CHROMIUM, NO_CHROMIUM
from tests.support.programs.courses import BUGS, PREDICTIONS, graded_exercise, ran, right_fields, template, toml
from tests.support.programs.disk_pages import MAX_MS, WITHOUT_STORAGE, opened_from_disk
from tests.support.programs.pyodide import pyodide_files

pytestmark = [pytest.mark.nightly, pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)]

expect.set_options(timeout=MAX_MS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the course, as the command writes it beside the levels."""
    path = tmp_path_factory.mktemp("course") / "out"
    pages = PlayFolder(path, pyodide_files())
    exercises = [exercise_page(name, list(pages.scripts)) for name in exercise_names()]
    pages.add([*exercises, *map(chapter_page, chapters())])
    return path


def page_of(folder: Path, name: str) -> Path:
    return folder / f"exercise_{name}.html"


def typed(tab: Page, fields: dict[str, str]) -> None:
    """Type the fields of the form by the keyboard, and send it from the last one."""
    for name, text in fields.items():
        tab.focus(f"#answer-{name}")
        tab.keyboard.press("Control+A")
        tab.keyboard.press("Delete")
        tab.keyboard.type(text)
    tab.keyboard.press("Enter")


def grade(tab: Page, name: str) -> list[str]:
    """The lines of a grade in the order of the questions, once Python has graded."""
    expect(tab.locator("#grade")).to_contain_text(f"exercise {name}: ")
    remarks = [each.inner_text() for each in tab.locator(".remark").all()]
    return [line for text in (*remarks, tab.inner_text("#grade")) for line in text.splitlines() if line]


def printed(name: str, fields: dict[str, str], folder: Path, *options: str) -> list[str]:
    """The lines that `lockstep course check` prints on the same answers."""
    text, _ = filled(template(name).read_text(encoding="utf-8"), fields, as_text=name in BUGS)
    (folder / ANSWER).write_text(text, encoding="utf-8")
    _, lines = ran("course", "check", name, folder, *options)
    return lines.replace(f"{folder}/", "").splitlines()


def wrong_fields(name: str) -> dict[str, str]:
    """Our answers, with a typical mistake for each question that has one, and the first left open."""
    exercise, fields = graded_exercise(name), right_fields(name)
    if isinstance(exercise, Predict):
        mistakes = {each.name: each.mistakes[0].answer for each in exercise.questions if each.mistakes}
        fields |= {each: value if isinstance(value, str) else toml(value) for each, value in mistakes.items()}
        return {**fields, next(iter(fields)): ""}
    return {**fields, "method": next(iter(exercise.hints))}


def kept_as_solved(tab: Page, name: str) -> object:
    return tab.evaluate("(key) => JSON.parse(localStorage.getItem(key)).solved", f"lockstep-course {name}")


@pytest.mark.parametrize("name", [*PREDICTIONS, *BUGS])
def test_a_page_grades_wrong_and_right_answers_as_the_command_does(
    name: str, browser: Browser, folder: Path, tmp_path: Path
) -> None:
    with opened_from_disk(browser, page_of(folder, name)) as tab:
        typed(tab, wrong_fields(name))
        lines = grade(tab, name)
        assert lines == printed(name, wrong_fields(name), tmp_path)
        assert lines[-1] == f"exercise {name}: not yet"
        if name in PREDICTIONS:
            assert tab.is_hidden("#controls")
            assert tab.evaluate("JSON.parse(document.getElementById('content').textContent).steps.length") == 1
        tab.click("#show-solution")
        assert sorted(grade(tab, name)) == sorted(printed(name, wrong_fields(name), tmp_path, "--solution"))
        assert tab.is_hidden("#controls") == (name in PREDICTIONS)
        assert kept_as_solved(tab, name) is False
        typed(tab, right_fields(name))
        expect(tab.locator("#grade")).to_contain_text("solved")
        assert grade(tab, name) == printed(name, right_fields(name), tmp_path)
        if name in PREDICTIONS:
            tab.click("#course-events button >> nth=-1")
            count = tab.locator("#course-events li").count()
            expect(tab.locator("#position")).to_contain_text(f"{count} of {count}")
            assert tab.locator("#course-events li.shown").count() == 1
            assert tab.is_visible("#nodes .node.acts")
        tab.goto((folder / "index.html").as_uri())
        assert tab.inner_text(f'[data-exercise="{name}"]') == "solved ✓"
        assert tab.locator("[data-exercise]").filter(has_text="solved").count() == 1


def test_a_question_on_the_beginning_is_not_answered_by_the_picture(browser: Browser, folder: Path) -> None:
    with opened_from_disk(browser, page_of(folder, "1")) as tab:
        assert tab.is_hidden("#picture")
        assert "ledgerEndIndex" not in tab.inner_text("main")
    with opened_from_disk(browser, page_of(folder, "5")) as tab:
        assert tab.is_visible("#nodes")
        assert tab.is_hidden("#controls")


def test_answers_are_kept_while_they_are_written_and_checked_before_python_has_started(
    browser: Browser, folder: Path
) -> None:
    with opened_from_disk(browser, page_of(folder, "4")) as tab:
        tab.fill("#answer-own_mark", "2")
        tab.reload()
        assert tab.input_value("#answer-own_mark") == "2"
        assert tab.inner_text("#grade") == ""
        typed(tab, right_fields("4"))
        assert tab.inner_text("#grade") == "Checking the answers; Python starts first, if this page was just opened."
        assert grade(tab, "4")[-1] == "exercise 4: solved"
        tab.reload()
        assert (
            tab.inner_text("#grade") == "You have solved this exercise. Check the answers once more to see the steps."
        )
        assert tab.is_hidden("#controls")
        tab.click("#check-answers")
        expect(tab.locator("#controls")).to_be_visible()


def test_two_pages_of_an_exercise_keep_the_answers_of_both(browser: Browser, folder: Path) -> None:
    with opened_from_disk(browser, page_of(folder, "4")) as tab:
        other = tab.context.new_page()
        other.set_default_timeout(MAX_MS)
        other.goto(tab.url)
        key, *_ = fields = list(right_fields("4"))
        typed(other, right_fields("4"))
        assert grade(other, "4")[-1] == "exercise 4: solved"
        tab.fill(f"#answer-{key}", "7")
        assert kept_as_solved(tab, "4") is True
        tab.reload()
        assert [tab.input_value(f"#answer-{each}") for each in fields] == ["7", *list(right_fields("4").values())[1:]]


def test_an_answer_that_is_no_value_is_named_and_may_be_mended(browser: Browser, folder: Path) -> None:
    with opened_from_disk(browser, page_of(folder, "3")) as tab:
        fields = right_fields("3")
        typed(tab, {**fields, "log_after_truncate": "[{ term = 1 <b>"})
        remark = tab.locator("#remark-log_after_truncate")
        expect(remark).to_contain_text("field `log_after_truncate`: no value: ")
        assert sum("is right" in line for line in grade(tab, "3")) == len(fields) - 1
        typed(tab, fields)
        assert grade(tab, "3")[-1] == "exercise 3: solved"


def test_an_exercise_is_solved_where_the_browser_keeps_nothing(browser: Browser, folder: Path) -> None:
    with opened_from_disk(browser, page_of(folder, "2"), WITHOUT_STORAGE) as tab:
        typed(tab, right_fields("2"))
        assert grade(tab, "2")[-1] == "exercise 2: solved"
        tab.goto((folder / "index.html").as_uri())
        assert tab.inner_text('[data-exercise="2"]') == ""


def test_what_is_kept_and_is_no_answer_is_passed_over(browser: Browser, folder: Path) -> None:
    for kept in ("null", "7", '{"fields":3}', '{"fields":{"own_mark":[1]},"solved":"yes"}', "{"):
        script = f"localStorage.setItem('lockstep-course 4', {kept!r});"
        with opened_from_disk(browser, page_of(folder, "4"), script) as tab:
            assert tab.input_value("#answer-own_mark") == ""
            assert tab.inner_text("#grade") == ""
            tab.goto((folder / "index.html").as_uri())
            assert tab.inner_text('[data-exercise="4"]') == ""


@pytest.mark.parametrize(
    ("name", "promise", "fewest"), [("2-guard", "ElectionSafety", 6), ("5-guard", "LeaderCompleteness", 10)]
)
def test_an_open_guard_is_played_until_the_promise_is_broken(
    name: str, promise: str, fewest: int, browser: Browser, folder: Path
) -> None:
    with opened_from_disk(browser, page_of(folder, name)) as tab:
        assert f"lockstep course check {name} mine" in tab.inner_text("#about")
        assert tab.is_hidden("#answer-form")
        for number in range(fewest):
            tab.click("#hint-step")
            expect(tab.locator("#hint")).to_contain_text("The next step of a shortest way: ")
            tab.keyboard.press("Enter")
            expect(tab.locator("#position")).to_contain_text(f"{number + 1} of ")
            expect(tab.locator("#hint")).to_be_empty()
            assert tab.inner_text("h1").startswith(f"Exercise {name}: ")
        assert tab.inner_text("#progress").startswith(
            f"The promise is broken: {promise} is violated after {fewest} steps."
        )
        assert promise in tab.inner_text("#verdict")
        tab.goto((folder / "index.html").as_uri())
        assert tab.inner_text(f'[data-guard="{name}"]') == f"broken in {fewest} steps"


def test_links_lead_from_the_list_to_an_exercise_its_chapter_and_back(browser: Browser, folder: Path) -> None:
    with opened_from_disk(browser, folder / "index.html") as tab:
        tab.click("text=4-bug")
        expect(tab.locator("h1")).to_have_text("Exercise 4-bug: a store that believes too much")
        tab.click("#chapter")
        expect(tab.locator("h1")).to_have_text("4. A quorum decides")
        tab.click("text=Exercise 4-bug")
        expect(tab.locator("h1")).to_have_text("Exercise 4-bug: a store that believes too much")
        tab.click("text=all exercises")
        expect(tab.locator("#exercises tbody tr")).to_have_count(12)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_axe_finds_nothing_on_the_pages_of_the_course(width: int, scheme: str, browser: Browser, folder: Path) -> None:
    exercises = [f"exercise_{name}" for name in ("1", "5", "8", "7-bug", "5-guard")]
    for name in (*exercises, "chapter_1_an_empty_log", "index"):
        tab = browser.new_page(
            color_scheme="dark" if scheme == "dark" else "light", viewport={"width": width, "height": 800}
        )
        tab.set_default_timeout(MAX_MS)
        tab.goto((folder / f"{name}.html").as_uri())
        if name == "exercise_5":
            typed(tab, right_fields("5"))
            assert grade(tab, "5")[-1] == "exercise 5: solved"
        for details in tab.locator("#exercise details").all():
            details.evaluate("each => { each.open = true; }")
        results = Axe().run(tab)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        tab.close()
        assert [(each["id"], each["nodes"][0]["html"]) for each in results.response["violations"]] == []
        assert len(results.response["passes"]) > 5
