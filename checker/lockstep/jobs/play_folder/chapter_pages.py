"""The chapters of the course as pages of a folder, which lead to their exercises and back."""

from __future__ import annotations

import re
from pathlib import Path

from lockstep.base.package_data import chapter_file
from lockstep.base.text_files import text_of
from lockstep.jobs.course.course_exercises import exercise_names, load_exercise
from lockstep.jobs.play_folder.write_folder import Page
from lockstep.report.page.build_page import build_chapter
from lockstep.report.page.markdown_html import markdown_html

__all__ = ["chapter_link", "chapter_page", "chapter_title", "chapters", "course_page_names", "exercise_link"]

#: The heading of an exercise in its chapter.
_EXERCISE = re.compile(r"^## (Exercise ([\w-]+).*)$", re.MULTILINE)


def chapters() -> list[str]:
    """Return the files of the chapters in the order of the course."""
    return list(dict.fromkeys(load_exercise(name).page for name in exercise_names()))


def course_page_names() -> list[str]:
    """Return the names of the pages of all exercises and chapters."""
    return [Path(link).stem for link in (*map(exercise_link, exercise_names()), *map(chapter_link, chapters()))]


def exercise_link(name: str) -> str:
    """Return the file of an exercise's page."""
    return f"exercise_{name}.html"


def chapter_link(file: str) -> str:
    """Return the file of a chapter's page."""
    return f"chapter_{Path(file).stem}.html"


def chapter_title(file: str) -> str:
    """Return the heading of a chapter, with its number."""
    return text_of(chapter_file(file)).partition("\n")[0].lstrip("# ")


def chapter_page(file: str) -> Page:
    """Return the page of a chapter: links lead to other chapters alone, and headings of exercises to their pages.

    Raises as build_chapter does.
    """
    addresses = {each: chapter_link(each) for each in chapters()}
    addresses |= {each: each for each in map(exercise_link, exercise_names())}
    text = _EXERCISE.sub(_linked, text_of(chapter_file(file)))
    title = chapter_title(file)
    page = build_chapter(title, markdown_html(text, addresses.get))
    return Page(chapter_link(file), title, is_chapter=True, text=page)


def _linked(heading: re.Match[str]) -> str:
    """Return the heading of an exercise as a link to its page, which another line names."""
    link = exercise_link(heading[2])
    return f"## [{heading[1]}]({link})\n\n[Do this exercise in the browser]({link}), or with the commands below."
